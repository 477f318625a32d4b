# SPDX-License-Identifier: GPL-3.0-or-later
#
# booted-pop.sh - pop-front under systemd, with the mails of booted-store.sh; booted.sh reads this
# file. Its functions use those of these two.

# A session: logs in, and prints what STAT says and how long the longest mail is.
fetch_pop() {
	/usr/bin/python3 - "$1" 2>/dev/null <<'EOF'
import poplib
import sys

client = poplib.POP3("127.0.0.1", 110, 20)
client.user("inbox@example.com")
client.pass_(sys.argv[1])
count, _ = client.stat()
sizes = [len(b"\r\n".join(client.retr(number)[1])) + 2 for number in range(1, count + 1)]
stated = [int(line.split()[1]) for line in client.list()[1]]
client.quit()
print(count, sizes == stated, max(sizes) > 100000)
EOF
}

has_pop() {
	[ "$(fetch_pop "correct horse")" = "$(list_stored | wc -l) True True" ]
}

# named NAME: children of $pid_of_pop, which is the first process, that call themselves so.
named() {
	for child in $(cat "/proc/$pid_of_pop/task/$pid_of_pop/children"); do
		[ "$(cat "/proc/$child/comm")" != "$1" ] || echo "$child"
	done
}

start_pop() {
	systemctl start pop-front
	systemctl -q is-active pop-front && fail "POP3 runs without a configuration"
	cat >/etc/dnsblv6/pop.conf <<-EOF
		pop:
		    listen: 127.0.0.1@110
		    user: pop-front
		    worker-user: pop-front-worker
		    chroot: /run/pop-front/empty
		    edges: 1
		    workers: 2
		login:
		    users: /var/lib/smtp-front/logins.mdb
		    require-tls: no
		    delay: 0
	EOF
	echo "inbox@example.com $(echo "correct horse" | smtp-front-users hash)" |
		smtp-front-users build --database /var/lib/smtp-front/logins.mdb - >/dev/null || fail "no users"
	systemctl start pop-front || fail "POP3 is not started"
}

# A mail that goes to the client by sendfile(2).
deliver_large() {
	/usr/bin/python3 - <<'EOF'
import smtplib

with smtplib.LMTP("127.0.0.1", 24, "client.example.net", timeout=20) as session:
    session.sendmail("sender@example.net", ["inbox@example.com"], b"Subject: large\r\n\r\n" + b"large\r\n" * 20000)
EOF
}

check_pop() {
	deliver_large || fail "the large mail is not taken"
	has_pop || fail "by POP3 come \"$(fetch_pop "correct horse")\" of $(list_stored | wc -l) mails"
	[ -z "$(fetch_pop wrong)" ] || fail "a wrong password is right"
	pid_of_pop=$(systemctl show --property MainPID --value pop-front)
	for name in edge checker worker; do
		[ -n "$(named "$name")" ] || fail "there is no $name of POP3"
		for child in $(named "$name"); do
			for state in 'Seccomp:	2' 'NoNewPrivs:	1' 'CapEff:	0000000000000000'; do
				grep -q "^$state$" "/proc/$child/status" || fail "a $name of POP3 is not confined: no \"$state\""
			done
		done
	done
	# Behind all others, which the unit has to permit.
	for child in $(named checker); do
		[ "$(cut -d ' ' -f 19 "/proc/$child/stat")" = 10 ] || fail "a checker is not nice"
	done
	runuser -u pop-front -- mail-store ls --store "$store_socket" >/dev/null 2>&1 && fail "an edge's user reads mails"
	kill -KILL "$(named worker | head -n 1)"
	wait_for "mails after a worker's crash" has_pop
	systemctl reload pop-front || fail "POP3 is not reloaded"
	wait_for "mails after a reload" has_pop
	# Its edges are called as those of smtp-front are.
	systemctl stop pop-front || fail "POP3 is not stopped"
}
