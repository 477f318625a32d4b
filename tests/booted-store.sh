# SPDX-License-Identifier: GPL-3.0-or-later
#
# booted-store.sh - mail-stored under systemd; booted.sh reads this file. Its functions use those
# of that file and of booted-front.sh, which has made the database of recipients.

store_socket=/run/mail-stored/socket

store_pid() {
	systemctl show --property MainPID --value mail-stored
}

has_new_store() {
	[ "$(store_pid)" != "$1" ] && [ "$(store_pid)" != 0 ] && mail-store stat --store "$store_socket" >/dev/null 2>&1
}

# A mail by LMTP to a port or to the path of a socket, for that mailbox: the code that it got.
deliver_to() {
	/usr/bin/python3 - "$@" <<'EOF'
import smtplib
import sys

place, mailbox = sys.argv[1:]
host, port = (place, 0) if place.startswith("/") else ("127.0.0.1", int(place))
with smtplib.LMTP(host, port, "client.example.net", timeout=20) as session:
    session.ehlo()
    session.mail("sender@example.net")
    code, _ = session.rcpt(mailbox)
    if code == 250:
        code, _ = session.data(b"Subject: kept\r\n\r\nkept\r\n")
    print(code)
EOF
}

list_stored() {
	mail-store ls --store "$store_socket" inbox@example.com
}

has_stored() {
	[ "$(list_stored | wc -l)" = "$1" ]
}

has_metrics() {
	runuser -u nobody -- grep -qs '^[a-z_]*mails' /run/mail-stored/metrics.prom
}

must_store() {
	mails=$(list_stored | wc -l)
	for place in 24 /run/mail-stored/lmtp; do
		answer=$(deliver_to "$place" inbox@example.com 2>&1) || true
		[ "$answer" = 250 ] || fail "$1: \"$answer\" to a mail at $place"
		answer=$(deliver_to "$place" nobody@example.com 2>&1) || true
		[ "$answer" = 550 ] || fail "$1: \"$answer\" to a mail for no mailbox at $place"
	done
	wait_for "two mails in the list, $1" has_stored $((mails + 2))
	id=$(list_stored | tail -n 1 | cut -f 1)
	mail-store cat --store "$store_socket" "$id" | tr -d '\r' | grep -qx 'Subject: kept' ||
		fail "$1: the mail has another text"
}

# must_keep WHAT LIST: it is what is listed.
must_keep() {
	[ "$(list_stored)" = "$2" ] || fail "$1: \"$(list_stored)\" is listed, and was \"$2\""
}

# Of each of its processes: the user, what the unit takes away, and no capability but the first one's.
must_be_confined() {
	uid=$(id -u mail-stored)
	count=0
	for entry in /proc/[0-9]*; do
		grep -qs "^Uid:	$uid	$uid	$uid	$uid$" "$entry/status" || continue
		count=$((count + 1))
		for state in 'Seccomp:	2' 'NoNewPrivs:	1'; do
			grep -q "^$state$" "$entry/status" || fail "a process of the store is not confined: no \"$state\""
		done
		[ "$entry" = "/proc/$(store_pid)" ] || grep -q '^CapEff:	0000000000000000$' "$entry/status" ||
			fail "a process of the store has capabilities: $(grep -E "^(Name|Pid|PPid|Cap)" "$entry/status")"
	done
	[ "$count" = 6 ] || fail "the store has $count processes"
	systemctl show --property SystemCallFilter --value mail-stored | grep -qw landlock_restrict_self ||
		fail "the store cannot confine itself to its files"
	for path in /etc /usr /var; do
		nsenter --target "$(store_pid)" --mount touch "$path/written" 2>/dev/null && fail "$path is not read-only for the store"
	done
	[ "$(stat -c %U:%G:%a /var/lib/mail-stored)" = mail-stored:mail-stored:700 ] || fail "others see the store's directory"
	runuser -u nobody -- mail-store ls --store "$store_socket" >/dev/null 2>&1 && fail "everybody reads mails"
	return 0
}

start_store() {
	systemctl start mail-stored
	systemctl -q is-active mail-stored && fail "the store runs without a configuration"
	[ ! -e /var/lib/mail-stored ] || fail "there is a store without a configuration"
	cat >/etc/dnsblv6/stored.conf <<-EOF
		stored:
		    users: /var/lib/smtp-front/users.mdb
		    metrics: /run/mail-stored/metrics.prom
		lmtp:
		    listen: [ 127.0.0.1@24, /run/mail-stored/lmtp ]
	EOF
	# Readers of the database enter themselves in its lock file.
	chgrp mail-stored /var/lib/smtp-front/users.mdb-lock
	chmod 664 /var/lib/smtp-front/users.mdb-lock
	systemctl start mail-stored || fail "the store is not started"
}

check_store() {
	must_store start
	must_be_confined
	wait_for "metrics that everybody can read" has_metrics
	listed=$(list_stored)
	systemctl restart mail-stored || fail "the store is not restarted"
	must_keep restart "$listed"
	store=$(store_pid)
	kill -KILL "$store"
	wait_for "a store after a crash" has_new_store "$store"
	must_keep crash "$listed"
	must_store crash
}

# smtp-front has no group but its own, so the socket is for that one.
check_front_with_store() {
	install -d /etc/systemd/system/mail-stored.service.d
	printf '%s\n' '[Service]' 'SupplementaryGroups=smtp-front' >/etc/systemd/system/mail-stored.service.d/group.conf
	systemctl daemon-reload
	sed -i '1a\    socket-group: smtp-front' /etc/dnsblv6/stored.conf
	systemctl restart mail-stored || fail "the store is not restarted for a group"
	sed -i -e 's|kind: maildir|kind: store|' -e "s|to: /var/mail/front|to: $store_socket|" /etc/dnsblv6/front.conf
	systemctl restart smtp-front || fail "the front is not restarted for the store"
	mails=$(list_stored | wc -l)
	wait_for "the front before the store" accepts
	wait_for "a mail of the front's in the list" has_stored $((mails + 1))
}

# Of what mails are in: bytes, owners and modes.
store_fingerprint() {
	find /var/lib/mail-stored -type f -exec sha256sum '{}' + | sort
	find /var/lib/mail-stored -printf '%p %u:%g %m\n' | sort
}
