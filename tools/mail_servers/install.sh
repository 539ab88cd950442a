#!/bin/sh
# Installs every program that the scripts beside it try (Debian, as root). Debian lets one of Postfix and Exim be
# installed at a time, so Exim is unpacked into a folder of its own, which is printed at the end: put it on the PATH.
set -eu
folder=${1:-/opt/tally-exim}
export DEBIAN_FRONTEND=noninteractive
get() { apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" > /dev/null; }
get postfix spamass-milter spamc dovecot-imapd dovecot-sieve procmail maildrop adduser
mkdir -p "$folder"
cd "$folder"
rm -f exim4-daemon-heavy_*.deb
apt-get download -qq exim4-daemon-heavy 2> /dev/null
# Its libraries, without the packages that make it this machine's mail server.
get $(dpkg-deb -f exim4-daemon-heavy_*.deb Depends | tr ',' '\n' | sed -n 's/^ *\(lib[^ ]*\).*/\1/p')
dpkg-deb -x exim4-daemon-heavy_*.deb .
# The user whose name is compiled into it.
id Debian-exim > /dev/null 2>&1 ||
  adduser --quiet --system --group --allow-bad-names --no-create-home --home /var/spool/exim4 Debian-exim
usr/sbin/exim4 -C /dev/null -bV | grep -q Content_Scanning
echo "$folder/usr/sbin"
