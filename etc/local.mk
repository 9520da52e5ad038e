# SPDX-License-Identifier: BSD-3-Clause
pkgsysconfdir = $(sysconfdir)/ergon
doc_DATA = etc/plugstack.conf.example
# An administrator's file is never overwritten.
install-data-local: etc/ergon.conf
	$(MKDIR_P) '$(DESTDIR)$(pkgsysconfdir)'
	test -e '$(DESTDIR)$(pkgsysconfdir)/ergon.conf' || \
	  $(INSTALL_DATA) etc/ergon.conf '$(DESTDIR)$(pkgsysconfdir)/ergon.conf'
uninstall-local:
	cmp -s etc/ergon.conf '$(DESTDIR)$(pkgsysconfdir)/ergon.conf' && \
	  rm -f '$(DESTDIR)$(pkgsysconfdir)/ergon.conf' || :
