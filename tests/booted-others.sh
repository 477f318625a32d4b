# SPDX-License-Identifier: GPL-3.0-or-later
#
# booted-others.sh - the other daemons under systemd: those that judge clients for mail servers, those
# that scan, mail-hub, and what builds zones; booted.sh reads this file. Its functions use those of that
# file, of booted-front.sh, whose smtp-front runs, and of booted-store.sh.

others='dnsblv6-milter dnsblv6-policy dnsblv6-translate mail-hub mail-proxy mail-scan-milter dnsblv6-watch'

pid_of() {
	systemctl show --property MainPID --value "$1"
}

# begin UNIT FILE: with the configuration of standard input; without one it does nothing.
begin() {
	systemctl start "$1"
	systemctl -q is-active "$1" && fail "$1 runs without a configuration"
	cat >"/etc/dnsblv6/$2"
	systemctl start "$1" || fail "$1 is not started"
	for state in 'Seccomp:	2' 'NoNewPrivs:	1'; do
		grep -q "^$state$" "/proc/$(pid_of "$1")/status" || fail "$1 is not confined: no \"$state\""
	done
	# Those of the mail servers need some.
	case "$1" in
	dnsblv6-*) grep -q '^CapEff:	0*$' "/proc/$(pid_of "$1")/status" || fail "$1 has capabilities" ;;
	esac
}

# A session of 192.0.2.25 with the milter of that socket: the first letter of each reply.
ask_milter() {
	/usr/bin/python3 - "$1" 2>/dev/null <<'EOF'
import socket
import struct
import sys

commands = [b"O" + struct.pack("!III", 6, 0x1ff, 0), b"Cx\0004" + struct.pack("!H", 25) + b"192.0.2.25\0",
            b"M<a@b.example>\0", b"R<c@d.example>\0"]
with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as reader:
    client.settimeout(20)
    client.connect(sys.argv[1])
    for command in commands:
        client.sendall(struct.pack("!I", len(command)) + command)
        size, = struct.unpack("!I", reader.read(4))
        print(reader.read(size)[:1].decode(), end="")
EOF
}

judges() {
	[ "$(ask_milter /run/dnsblv6-milter/socket)" = Occy ]
}

scans() {
	[ "$(ask_milter /run/mail-scan-milter/socket)" = Occc ]
}

decides() {
	/usr/bin/python3 - 2>/dev/null <<'EOF'
import socket
import sys

with socket.socket(socket.AF_UNIX) as client:
    client.settimeout(20)
    client.connect("/run/dnsblv6-policy/socket")
    client.sendall(b"request=smtpd_access_policy\nclient_address=192.0.2.25\n\n")
    sys.exit(not client.recv(1000).startswith(b"action=REJECT"))
EOF
}

translates() {
	[ "$(ask -p 5300 A 25.2.0.192.bl.local.)" = 127.0.0.2 ]
}

# send_line PORT RECIPIENT LINE: a mail of that line by SMTP; the code at its end.
send_line() {
	/usr/bin/python3 - "$@" 2>/dev/null <<'EOF'
import smtplib
import sys

port, recipient, line = sys.argv[1:]
with smtplib.SMTP("127.0.0.1", int(port), "client.example.net", timeout=20) as session:
    session.ehlo()
    session.mail("sender@example.net")
    session.rcpt(recipient)
    print(session.data(f"Subject: x\r\n\r\n{line}\r\n".encode())[0])
EOF
}

passes() {
	[ "$(send_line 2526 inbox@example.com clean)" = 250 ] && [ "$(send_line 2526 inbox@example.com "$(cat "$here/eicar")")" = 550 ]
}

keeps() {
	[ "$(send_line 2525 anna@example.org kept)" = 250 ] &&
		mail-store ls --store /run/mail-hub/store anna@example.org | grep -q .
}

# A list that another address is written to is built and served.
builds() {
	address=$((${address-130} + 1))
	echo "192.0.2.$address" >>/var/lib/dnsblv6/lists/list.txt
	wait_for "an address that was written into a list" lists "$address"
}

lists() {
	[ "$(ask A "$1.2.0.192.bl.example.")" = 127.0.0.2 ]
}

start_judges() {
	echo 198.51.100.200 >/etc/dnsblv6/allowed.conf
	begin dnsblv6-policy policy.conf <<-EOF
		policy:
		    listen: /run/dnsblv6-policy/socket
		decision:
		    allow-file: /etc/dnsblv6/allowed.conf
		library:
		    zones: bl6.example
		    servers: 127.0.0.1
	EOF
	begin dnsblv6-milter milter.conf <<-EOF
		decision:
		    allow-file: /etc/dnsblv6/allowed.conf
		library:
		    zones: bl6.example
		    servers: 127.0.0.1
	EOF
	begin dnsblv6-translate translate.conf <<-EOF
		zone:
		  - domain: bl.local
		    lists: [ bl6.example:127.0.0.2 ]
		library:
		    servers: 127.0.0.1
	EOF
	install -d -o dnsblv6-zone /var/lib/dnsblv6/lists
	cp /usr/share/doc/dnsblv6-tools/examples/list.txt /var/lib/dnsblv6/lists
	begin dnsblv6-watch zones.conf <<-EOF
		zone:
		  - domain: bl6.example.
		    store: /var/lib/dnsblv6/bl6.mdb
		    list: /var/lib/dnsblv6/lists/list.txt
		    ns: ns1.example.net.
		    key: /etc/dnsblv6/keys/bl6.pem
	EOF
}

start_scanners() {
	signatures=/usr/share/doc/mail-scan/examples/eicar.ndb
	cut -d : -f 4 "$signatures" | /usr/bin/python3 -c 'print(bytes.fromhex(input()).decode())' >"$here/eicar"
	mail-scan compile --output /var/lib/mail-scan/mail.signatures "$signatures" >/dev/null || fail "no signatures"
	begin mail-scan-milter scan-milter.conf <<-EOF
		milter:
		    socket: /run/mail-scan-milter/socket
		scan:
		    signatures: /var/lib/mail-scan/mail.signatures
	EOF
	begin mail-proxy proxy.conf <<-EOF
		proxy:
		    user: mail-proxy
		listener:
		  - listen: 127.0.0.1@2526
		    next-hop: 127.0.0.1@25
		    proxy-to: v1
		scan:
		    signatures: /var/lib/mail-scan/mail.signatures
	EOF
}

start_hub() {
	echo anna@example.org >"$here/users.txt"
	runuser -u mail-hub -- smtp-front-users build --database /var/lib/mail-hub/users.mdb - \
		<"$here/users.txt" >/dev/null || fail "no users"
	begin mail-hub hub.conf <<-EOF
		hub:
		    hostname: mail.example.org
		    user: mail-hub
		    smtp: 127.0.0.1@2525
	EOF
}

must_do_all() {
	for task in judges decides translates scans passes keeps; do
		wait_for "what $task, $1" "$task"
	done
	builds
}

check_others() {
	start_judges
	start_scanners
	start_hub
	must_do_all start
	for unit in $others; do
		pid=$(pid_of "$unit")
		[ "$unit" = dnsblv6-translate ] || systemctl reload "$unit" || fail "$unit is not reloaded"
		[ "$(pid_of "$unit")" = "$pid" ] || fail "a reload of $unit is a restart"
	done
	must_do_all reload
	pids_of_others=$(pids_of_others)
}

pids_of_others() {
	for unit in $others; do
		pid_of "$unit"
	done
}

check_others_upgraded() {
	must_do_all upgrade
	for pid in $(pids_of_others); do
		echo "$pids_of_others" | grep -qx "$pid" && fail "the upgrade has not restarted process $pid"
	done
	return 0
}
