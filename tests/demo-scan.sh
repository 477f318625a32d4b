# SPDX-License-Identifier: GPL-3.0-or-later
#
# demo-scan.sh - mails that are scanned as they flow: the part of ./demo --scan.
#
# Sourced by demo, whose functions it uses. The test file of EICAR, which every scanner
# finds, is made of two halves when it is sent, so that no file here is taken for it.

scan_port=5309      # of smtp-front, which scans
proxy_port=5310     # of mail-proxy, before the Postfix
proxy_pop_port=5311 # and before pop-front
scan_pop_port=5312  # of that pop-front
mail_scan=build/demo/integration/mail/mail-scan/mail-scan
mail_proxy=build/demo/integration/mail/mail-proxy/mail-proxy
pop_front=build/demo/integration/mail/pop-front/pop-front

write_scan_configs() {
	cat >"$run/scan-front.conf" <<END
front:
    hostname: mx.example.com
    listen: [ 127.0.0.1@$scan_port ]
    edges: 1
    workers: 2
limits:
    greet-pause: 0
trust:
    users: $PWD/$run/scan-users.mdb
sink:
    kind: store
    to: $PWD/$run/scan-stored.socket
scan:
    signatures: $PWD/$run/demo.signatures
END
	cat >"$run/proxy.conf" <<END
proxy:
    hostname: mx.example.com
    processes: 1
listener:
  - listen: 127.0.0.1@$proxy_port
    next-hop: 127.0.0.1@$smtp_port
  - listen: 127.0.0.1@$proxy_pop_port
    protocol: pop3
    next-hop: 127.0.0.1@$scan_pop_port
scan:
    signatures: $PWD/$run/demo.signatures
END
	cat >"$run/scan-stored.conf" <<END
stored:
    directory: $PWD/$run/scan-store
    socket: $PWD/$run/scan-stored.socket
END
	cat >"$run/scan-pop.conf" <<END
pop:
    hostname: mx.example.com
    listen: [ 127.0.0.1@$scan_pop_port ]
    edges: 1
    workers: 2
login:
    users: $PWD/$run/scan-logins.mdb
    require-tls: no
store:
    socket: $PWD/$run/scan-stored.socket
END
}

make_scan_files() {
	rm -rf "$run/scan-store" "$run/eicar.com" "$run/eicar.zip" "$run/clean.zip"
	mkdir "$run/scan-store"
	printf '%s%s' 'X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-' 'STANDARD-ANTIVIRUS-TEST-FILE!$H+H*' \
		>"$run/eicar.com"
	(cd "$run" && zip -q eicar.zip eicar.com && zip -q clean.zip proxy.conf) ||
		fail "zip: exit status $?"
	echo "anna@example.com $(echo "anna's word" | "$front/smtp-front-users" hash)" >"$run/scan-users.txt"
	"$front/smtp-front-users" build --database "$run/scan-users.mdb" --logins "$run/scan-logins.mdb" \
		"$run/scan-users.txt" >"$run/users.out" 2>&1 || fail "smtp-front-users build: see $run/users.out"
}

# send_scanned PORT RECIPIENT FILE PATTERN EXPLANATION: as an attachment. What is said at the dot must
# match.
send_scanned() {
	echo "    \$ swaks --server 127.0.0.1:$1 --to $2 --attach @$3"
	swaks --server "127.0.0.1:$1" --helo client.example.net --from sender@example.net --to "$2" \
		--header "Subject: $3" --attach "@$run/$3" >"$run/swaks.out" 2>&1
	sed -n 's/^\(<\*\* 5\|<-  250 2.0.0\)/      &/p' "$run/swaks.out"
	grep -q "$4" "$run/swaks.out" || fail "the sender is not told \"$4\": see $run/swaks.out"
	echo "      $5"
}

# list_scanners PID NAME: its processes and their memory that no other has.
list_scanners() {
	for child in "$1" $(cat "/proc/$1/task/$1/children"); do
		printf '      %8s  %-12s %6s kB of its own\n' "$child" "$(cat "/proc/$child/comm")" \
			"$(awk '/^Private_(Clean|Dirty):/ { sum += $2 } END { print sum }' "/proc/$child/smaps_rollup")"
	done
}

# fetch_scanned NUMBER: by POP3 through the proxy, into $run/curl.out.
fetch_scanned() {
	echo "    \$ curl --user anna@example.com pop3://127.0.0.1:$proxy_pop_port/$1"
	curl --silent --show-error --user "anna@example.com:anna's word" \
		"pop3://127.0.0.1:$proxy_pop_port/$1" >"$run/curl.out" 2>&1 || fail "curl: see $run/curl.out"
	grep '^Subject: ' "$run/curl.out" | tr -d '\r' | sed 's/^/      /'
}

show_smtp_front_scan() {
	echo "    \$ smtp-front --config scan-front.conf      # sink: store; scan: { signatures: ... }"
	start scan-front.log ' ready, ' "$front/smtp-front" --config "$run/scan-front.conf"
	scan_front_pid=$pid
	send_scanned "$scan_port" anna@example.com eicar.zip '^<\*\* 550 5.7.1 Eicar-Test-Signature' \
		"refused at the dot, by what is in the zip; nothing was stored:"
	"$mail_store" stat --store "$run/scan-stored.socket" >"$run/stat.out" 2>&1 || fail "mail-store stat: see $run/stat.out"
	echo "      mails=$(store_number mails)"
	[ "$(store_number mails)" = 0 ] || fail "the store has a mail"
	send_scanned "$scan_port" anna@example.com clean.zip '^<-  250 2.0.0' "the same with another file in it"
	list_scanners "$scan_front_pid"
}

show_proxy_scan() {
	echo "    \$ mail-proxy --config proxy.conf      # before a Postfix, and before pop-front"
	start proxy.log ' ready, ' "$mail_proxy" --config "$run/proxy.conf"
	proxy_pid=$pid
	before=$(inbox | wc -l)
	send_scanned "$proxy_port" inbox@example.com eicar.zip '^<\*\* 550 5.7.1 Eicar-Test-Signature' \
		"Postfix has had all of it but the dot"
	send_scanned "$proxy_port" inbox@example.com clean.zip '^<-  250 2.0.0 Ok: queued' "Postfix's own reply"
	wait_for_mail $((before + 1))
	as_root grep -l '^Subject: eicar.zip' $(inbox) && fail "Postfix has delivered the mail"
	list_scanners "$proxy_pid"
}

show_pop_scan() {
	echo "    \$ mail-store deliver      # a mail that came before there was a scanner"
	printf 'From: <sender@example.net>\nTo: <anna@example.com>\nSubject: from long ago\n\n%s\n' \
		"$(cat "$run/eicar.com")" >"$run/old.eml"
	"$mail_store" deliver --store "$run/scan-stored.socket" anna@example.com <"$run/old.eml" >"$run/deliver.out" 2>&1 ||
		fail "mail-store deliver: see $run/deliver.out"
	start scan-pop.log ' ready, ' "$pop_front" --config "$run/scan-pop.conf"
	fetch_scanned 1
	grep -q '^Subject: clean.zip' "$run/curl.out" || fail "curl does not have the clean mail"
	fetch_scanned 2
	grep -q 'Eicar-Test-Signature' "$run/curl.out" || fail "curl does not have the notice"
	grep -q "$(cat "$run/eicar.com" | cut -c 30-60)" "$run/curl.out" && fail "curl has what was found"
	sed -n '/^ *Eicar/p' "$run/curl.out" | tr -d '\r' | sed 's/^/      /'
}

show_scan() {
	write_scan_configs
	make_scan_files
	echo "    \$ mail-scan compile --output demo.signatures docs/example/eicar.ndb"
	"$mail_scan" compile --output "$run/demo.signatures" docs/example/eicar.ndb >"$run/compile.out" 2>&1 ||
		fail "mail-scan compile: see $run/compile.out"
	sed 's/^/      /' "$run/compile.out"
	echo "    \$ mail-scan --database demo.signatures eicar.zip"
	"$mail_scan" --database "$run/demo.signatures" "$run/eicar.zip" >"$run/scan.out" 2>&1
	[ "$?" = 1 ] || fail "mail-scan does not find it: see $run/scan.out"
	sed 's/^/      /' "$run/scan.out"
	start scan-stored.log ' ready, ' "$stored" --config "$run/scan-stored.conf"
	show_smtp_front_scan
	start_postfix
	show_proxy_scan
	show_pop_scan
}
