#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# booted.sh - the part of tests/package that runs under a systemd of its own,
# in a container: the units with their sandbox, and what upgrades, crashes and
# purging do to services that run.
#
#     booted.sh NEW-VERSION
#
# The packages are installed, with a signed store bl6.mdb and its key; those of
# NEW-VERSION lie beside this file.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
new_version=$1

fail() {
	echo "booted: $1" >&2
	systemctl status --no-pager --full 'dnsblv6*' 'mail-*' smtp-front pop-front >&2 || true
	journalctl --no-pager --unit 'dnsblv6*' --unit 'mail-*' --unit smtp-front --unit pop-front >&2 || true
	exit 1
}

# wait_for WHAT COMMAND ...: until it succeeds; 20 seconds are plenty.
wait_for() {
	what=$1
	shift
	tries=200
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "waited in vain for $what"
		sleep 0.1
	done
}

ask() {
	dig +short +timeout=5 +tries=3 @127.0.0.1 "$@"
}

must_serve() {
	for transport in +notcp +tcp; do
		answer=$(ask "$transport" A 25.2.0.192.bl.example.)
		[ "$answer" = 127.0.0.2 ] || fail "$1: \"$answer\" is the answer, $transport"
	done
}

. "$here/booted-front.sh"
. "$here/booted-store.sh"
. "$here/booted-pop.sh"
. "$here/booted-others.sh"

serial() {
	ask SOA bl6.example. | awk '{ print $3 }'
}

main_pid() {
	systemctl show --property MainPID --value dnsblv6d
}

is_newer_than() {
	[ "$(serial)" -gt "$1" ]
}

has_new_pid() {
	[ "$(main_pid)" != "$1" ] && [ "$(main_pid)" != 0 ] && systemctl -q is-active dnsblv6d
}

systemctl -q is-active dnsblv6d || fail "not started with the system"
must_serve start

# The sandbox is there: a filter of system calls, and a read-only view of files.
pid=$(main_pid)
for state in 'Seccomp:	2' 'NoNewPrivs:	1'; do
	grep -q "^$state$" "/proc/$pid/status" || fail "not confined: no \"$state\""
done
for path in /etc /usr /var; do
	nsenter --target "$pid" --mount touch "$path/written" 2>/dev/null && fail "$path is not read-only"
done
[ -z "$(nsenter --target "$pid" --mount ls -A /root)" ] || fail "root's home can be seen"

dnsblv6ctl status >/dev/null || fail "the operator is not answered"
runuser -u nobody -- dnsblv6ctl status >/dev/null 2>&1 && fail "everybody is an operator"

systemctl reload dnsblv6d || fail "not reloaded"
must_serve reload
[ "$(main_pid)" = "$pid" ] || fail "a reload is a restart"

# Through the cache alone: at that resolver there is nobody.
by_cache() {
	dnsblv6-lookup --server 127.0.0.9 --zones bl6.example --set shared=/run/dnsblv6-cached \
		"$1" >"$here/lookup.log" 2>&1
}
cache_pid() {
	systemctl show --property MainPID --value dnsblv6-cached
}
has_new_cache() {
	[ "$(cache_pid)" != "$1" ] && [ "$(cache_pid)" != 0 ] && by_cache 192.0.2.25
}
systemctl start dnsblv6-cached
systemctl -q is-active dnsblv6-cached && fail "the cache runs without a configuration"
printf '%s\n' 'zone:' '  - domain: bl6.example' 'library:' '    servers: 127.0.0.1' \
	>/etc/dnsblv6/cached.conf
systemctl start dnsblv6-cached || fail "the cache is not started"
wait_for "an answer of the cache" by_cache 192.0.2.25
by_cache 192.0.2.26 && fail "the cache lists what is not listed"
cache_pid=$(cache_pid)
grep -q '^Seccomp:	2$' "/proc/$cache_pid/status" || fail "the cache is not confined"
[ "$(stat -c %U:%a /run/dnsblv6-cached)" = dnsblv6-cached:755 ] || fail "the cache's directory is not its own"
kill -KILL "$cache_pid"
wait_for "a cache after a crash" has_new_cache "$cache_pid"
cache_pid=$(cache_pid)

pid=$(main_pid)

start_front
check_front
start_store
check_store
start_pop
check_pop

before=$(serial)
systemctl start dnsblv6-sign@bl6.service || fail "not signed"
wait_for "the signed version" is_newer_than "$before"
systemctl -q enable --now dnsblv6-sign@bl6.timer
systemctl -q is-active dnsblv6-sign@bl6.timer || fail "the timer does not run"

check_others

pid=$(main_pid)
kill -KILL "$pid"
wait_for "a restart after a crash" has_new_pid "$pid"
must_serve crash

# A question starts it.
systemctl stop dnsblv6d
systemctl -q enable --now dnsblv6d.socket
must_serve activation
pid=$(main_pid)

packages=$(dpkg-query -W -f '${Package}\n' | grep -E 'dnsblv6|mail-(cluster|hub|proxy|scan|store)|pop-front|smtp-front')
listed=$(list_stored)
store=$(store_pid)
files=$(for name in $packages; do echo "$here/$name"_"$new_version"_*.deb; done)
# shellcheck disable=SC2086 # one word for each file
dpkg --force-confold --install $files >"$here/upgrade.log" 2>&1 || {
	cat "$here/upgrade.log" >&2
	fail "not upgraded"
}
systemctl -q is-active dnsblv6d.socket || fail "the upgrade has closed the sockets"
has_new_pid "$pid" || fail "the upgrade has not restarted the server"
must_serve upgrade
systemctl -q is-active dnsblv6-sign@bl6.timer || fail "the upgrade has stopped the timer"
wait_for "the cache after the upgrade" has_new_cache "$cache_pid"
wait_for "the front after the upgrade" accepts
must_front upgrade
wait_for "the store after the upgrade" has_new_store "$store"
must_keep upgrade "$listed"
must_store upgrade
check_others_upgraded
check_front_with_store

# Of the kernel's refusals, none may be the sandbox's. What was killed above is missed, and may be.
if journalctl --no-pager --quiet --unit 'dnsblv6*' --unit 'mail-*' --unit smtp-front --unit pop-front |
	grep -E '(error|warning): |not permitted|denied' | grep -vE 'worker died while|process died|store is not there'; then
	fail "complaints"
fi

# The operator's, as configurations are.
rm /var/lib/mail-scan/mail.signatures
# shellcheck disable=SC2086 # one word for each package
dpkg --remove $packages >/dev/null 2>&1 || fail "not removed"
for unit in dnsblv6d.service dnsblv6d.socket dnsblv6-cached.service dnsblv6-sign@bl6.timer mail-stored.service \
	pop-front.service smtp-front.service $others; do
	systemctl -q is-active "$unit" && fail "$unit is still active"
done
ask A 25.2.0.192.bl.example. >/dev/null && fail "somebody still answers"
[ -s /var/lib/dnsblv6/bl6.mdb ] || fail "removing has deleted the store"
[ -s /var/lib/smtp-front/users.mdb ] || fail "removing has deleted the recipients"
kept=$(store_fingerprint)

# Installed again, what was enabled runs, timers of zones too.
files=$(for name in dnsblv6-common dnsblv6-tools dnsblv6d; do echo "$here/$name"_"$new_version"_*.deb; done)
# shellcheck disable=SC2086 # one word for each file
dpkg --install $files >/dev/null 2>&1 || fail "not installed again"
systemctl -q is-active dnsblv6-sign@bl6.timer || fail "the timer of a zone does not run when the package is back"
systemctl -q is-active dnsblv6d.socket || fail "the server's sockets are not there when the package is back"
must_serve reinstall
# A mount point is emptied, and cannot be removed.
mount --bind /var/lib/smtp-front /var/lib/smtp-front

rm -rf /etc/dnsblv6/*.conf /etc/systemd/system/mail-stored.service.d /etc/systemd/system/smtp-front.service.d
# shellcheck disable=SC2086
dpkg --purge $packages >/dev/null 2>&1 || fail "not purged"
umount /var/lib/smtp-front
rmdir /var/lib/smtp-front || fail "purging has not emptied a mount point"
[ "$(store_fingerprint)" = "$kept" ] || fail "purging has changed the mails: $(store_fingerprint)"
[ -s /var/lib/mail-stored/index.mdb ] || fail "purging has deleted the mails"
[ -s /var/lib/mail-hub/store/index.mdb ] || fail "purging has deleted the mails of mail-hub"
left=$(find / -xdev '(' -name '*dnsblv6*' -o -name 'smtp-front*' -o -name 'mail-[chps]*' -o -name 'pop-front*' ')' \
	! -path /var/lib/mail-stored ! -path /var/lib/mail-hub ! -path "$here/*" ! -path '/tmp/*' ! -path '/var/tmp/*')
[ -z "$left" ] || fail "purging has left $left"
