# SPDX-License-Identifier: GPL-3.0-or-later
#
# booted-front.sh - smtp-front under systemd; booted.sh reads this file. Its functions use those
# of that file. Mails go into a maildir, and a listed client is known by a PROXY header.

front_pid() {
	systemctl show --property MainPID --value smtp-front
}

# speak LINE ...: a session, line after line; the code of each reply, the banner's first.
speak() {
	/usr/bin/python3 - "$@" <<'EOF'
import socket
import sys


def print_code(reader):
    reply = reader.readline()
    while reply[3:4] == b"-":
        reply = reader.readline()
    print(reply[:3].decode())


with socket.create_connection(("127.0.0.1", 25), 20) as client, client.makefile("rb") as reader:
    client.sendall(sys.argv[1].encode() + b"\r\n")  # PROXY, which has no reply
    print_code(reader)
    for line in sys.argv[2:]:
        client.sendall(line.encode() + b"\r\n")
        print_code(reader)
EOF
}

# A mail by that client, to that recipient: "250" and so on of RCPT, and of the mail if it came to that.
send_as() {
	speak "PROXY TCP4 $1 192.0.2.1 40000 25" "EHLO client.example.net" "MAIL FROM:<a@b.example>" \
		"RCPT TO:<$2>" "DATA" "$(printf 'Subject: x\r\n\r\nx\r\n.')" QUIT 2>/dev/null | tr '\n' ' '
}

count_mails() {
	find /var/mail/front/new -type f | wc -l
}

accepts() {
	send_as 192.0.2.26 inbox@example.com | grep -q '250 354 250 221'
}

has_new_edge() {
	find_edge | grep -vx "$1" >"$here/edge" && accepts
}

find_edge() {
	for entry in /proc/[0-9]*; do
		[ "$(cat "$entry/comm" 2>/dev/null)" != edge ] || basename "$entry"
	done
}

start_front() {
	systemctl start smtp-front
	systemctl -q is-active smtp-front && fail "the front runs without a configuration"
	install -d -o smtp-front -g smtp-front /var/mail/front /var/mail/front/new /var/mail/front/cur \
		/var/mail/front/tmp
	cat >/etc/dnsblv6/front.conf <<-EOF
		front:
		    listen: 127.0.0.1@25
		    hostname: mx.example.com
		    user: smtp-front
		    chroot: /run/smtp-front/empty
		    edges: 1
		    workers: 2
		    proxy: 127.0.0.0/8
		limits:
		    greet-pause: 0s
		trust:
		    users: /var/lib/smtp-front/users.mdb
		sink:
		    kind: maildir
		    to: /var/mail/front
		library:
		    zones: bl6.example
		    servers: 127.0.0.1
	EOF
	install -d /etc/systemd/system/smtp-front.service.d
	printf '%s\n' '[Service]' 'ReadWritePaths=/var/mail/front' \
		>/etc/systemd/system/smtp-front.service.d/maildir.conf
	systemctl daemon-reload
	echo inbox@example.com >"$here/recipients.txt"
	smtp-front-users build --database /var/lib/smtp-front/users.mdb "$here/recipients.txt" \
		>/dev/null || fail "no recipients"
	systemctl start smtp-front || fail "the front is not started"
}

must_front() {
	mails=$(count_mails)
	answers=$(send_as 192.0.2.26 inbox@example.com)
	[ "$answers" = "220 250 250 250 354 250 221 " ] || fail "$1: \"$answers\" to a good mail"
	[ "$(count_mails)" = $((mails + 1)) ] || fail "$1: the mail is not there"
	answers=$(send_as 192.0.2.26 nobody@example.com)
	case $answers in "220 250 250 550 "*) ;; *) fail "$1: \"$answers\" to a bounce" ;; esac
	answers=$(send_as 192.0.2.25 inbox@example.com)
	case $answers in "220 250 250 554 "* | "220 250 250 550 "*) ;; *) fail "$1: \"$answers\" to a listed client" ;; esac
}

check_front() {
	must_front start
	edge=$(find_edge)
	[ -n "$edge" ] || fail "there is no edge"
	for state in 'Seccomp:	2' 'NoNewPrivs:	1' 'CapEff:	0000000000000000'; do
		grep -q "^$state$" "/proc/$edge/status" || fail "the edge is not confined: no \"$state\""
	done
	front=$(front_pid)
	systemctl reload smtp-front || fail "the front is not reloaded"
	wait_for "an edge after a reload" has_new_edge "$edge"
	[ "$(front_pid)" = "$front" ] || fail "a reload of the front is a restart"
	must_front reload
	edge=$(find_edge)
	kill -KILL "$edge"
	wait_for "an edge after a crash" has_new_edge "$edge"
	must_front crash
}
