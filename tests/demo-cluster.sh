# SPDX-License-Identifier: GPL-3.0-or-later
#
# demo-cluster.sh - three nodes on one machine, of which one is killed: the part of ./demo --cluster.
#
# Sourced by demo, whose functions it uses. A node is an address of loopback with a monitor and
# an OSD of RADOS, mail-stored, smtp-front and pop-front.

cluster_port=5313     # of smtp-front, at each node's address
cluster_pop_port=5314 # of pop-front
mail_cluster=build/demo/integration/mail/mail-cluster/mail-cluster
nodes="a b c"

# The three of a node.
write_node_configs() {
	cat >"$run/$1-stored.conf" <<END
stored:
    socket: $PWD/$run/$1.socket
    layer: rados
cluster:
    ceph-conf: $ceph_conf
    node: $1
END
	cat >"$run/$1-front.conf" <<END
front:
    hostname: $1.example.com
    listen: [ $2@$cluster_port ]
    edges: 1
    workers: 2
limits:
    greet-pause: 0
trust:
    users: $PWD/$run/cluster-users.mdb
sink:
    kind: store
    to: $PWD/$run/$1.socket
END
	cat >"$run/$1-pop.conf" <<END
pop:
    hostname: $1.example.com
    listen: [ $2@$cluster_pop_port ]
    edges: 1
    workers: 2
login:
    users: $PWD/$run/cluster-logins.mdb
    require-tls: no
store:
    socket: $PWD/$run/$1.socket
END
}

node_address() {
	eval "echo \"\$address_$1\""
}

node_number() {
	case $1 in
	a) echo 1 ;;
	b) echo 2 ;;
	*) echo 3 ;;
	esac
}

# tell_rados WORD NODE: what it answers, in $said.
tell_rados() {
	echo "$1 $(node_number "$2")" >&6
	read -r said <&7 || fail "RADOS is gone: see $run/rados.log"
}

# Three monitors and three OSDs, from an empty directory.
start_rados() {
	rm -rf "$run/rados.in" "$run/rados.out" "$run/ceph"
	mkdir -p "$run/ceph"
	mkfifo "$run/rados.in" "$run/rados.out" || fail "cannot make pipes in $run"
	/usr/bin/python3 tests/demo-rados "$PWD/$run/ceph" <>"$run/rados.in" >"$run/rados.out" 2>"$run/rados.log" &
	pids="$! $pids"
	exec 6>"$run/rados.in" 7<"$run/rados.out"
	read -r said ceph_conf address_a address_b address_c <&7 || fail "RADOS does not start: see $run/rados.log"
	echo "      three monitors and three OSDs: a $address_a, b $address_b, c $address_c"
}

# start_node NODE: its mail servers; their pids are kept, for a kill.
start_node() {
	node_pids=
	start "$1-stored.log" '\] ready, ' "$stored" --config "$run/$1-stored.conf"
	node_pids="$pid $node_pids"
	start "$1-front.log" ' ready, ' "$front/smtp-front" --config "$run/$1-front.conf"
	node_pids="$pid $node_pids"
	start "$1-pop.log" ' ready, ' "$pop_front" --config "$run/$1-pop.conf"
	eval "pids_$1=\"$pid $node_pids\""
}

# A process and all below it.
tree_of() {
	echo "$1"
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		tree_of "$child"
	done
}

node_tree() {
	for one in $(eval "echo \$pids_$1"); do
		tree_of "$one"
	done
}

list_node() {
	tell_rados pids "$1"
	for one in $said $(node_tree "$1"); do
		cat "/proc/$one/comm"
	done 2>/dev/null | sort | uniq -c | awk '{ line = line "  " $2 (($1 > 1) ? " x " $1 : "") } END { print line }' |
		sed "s/^/      $1:/"
}

# All of its processes at once, with SIGKILL.
kill_node() {
	tree=$(node_tree "$1")
	tell_rados kill "$1"
	# shellcheck disable=SC2086 # one word for each process
	kill -9 $tree 2>/dev/null
	for one in $(eval "echo \$pids_$1"); do
		wait "$one" 2>/dev/null
	done
}

# ask_node NODE COMMAND STATUS: mail-cluster at a node; its exit status has to be that.
ask_node() {
	echo "    \$ mail-cluster $2      # asked at $1"
	"$mail_cluster" "$2" --store "$run/$1.socket" >"$run/cluster.out" 2>&1
	status=$?
	sed 's/^/      /' "$run/cluster.out"
	[ "$status" = "$3" ] || fail "mail-cluster $2: exit status $status, and must be $3"
}

# wait_node NODE COMMAND STATUS: until it is.
wait_node() {
	tries=300
	until
		"$mail_cluster" "$2" --store "$run/$1.socket" >"$run/cluster.out" 2>&1
		[ "$?" = "$3" ]
	do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "mail-cluster $2 does not come to exit status $3: see $run/cluster.out"
		sleep 0.2
	done
}

# send_to NODE SUBJECT: a mail for three users by SMTP.
send_to() {
	address=$(node_address "$1")
	echo "    \$ swaks --server $address:$cluster_port --to anna@example.com,bert@example.com,carl@example.com"
	swaks --server "$address:$cluster_port" --helo client.example.net --from sender@example.net \
		--to anna@example.com,bert@example.com,carl@example.com --header "Subject: $2" \
		>"$run/swaks.out" 2>&1 || fail "the mail is not taken: see $run/swaks.out"
	sed -n 's/^<-  250 2.0.0 /      250 2.0.0 /p' "$run/swaks.out"
}

# fetch_at NODE COMMAND: as anna@example.com by POP3, into $run/curl.out.
fetch_at() {
	echo "    \$ curl --user anna@example.com --request '$2' pop3://$(node_address "$1"):$cluster_pop_port"
	curl --silent --show-error --user "anna@example.com:anna's word" --request "$2" \
		"pop3://$(node_address "$1"):$cluster_pop_port" >"$run/curl.out" 2>&1 || fail "curl: see $run/curl.out"
	tr -d '\r' <"$run/curl.out" >"$run/curl.text"
}

# list_at NODE: unique ids of anna's mails, in $ids.
list_at() {
	fetch_at "$1" UIDL
	sed 's/^/      /' "$run/curl.text"
	ids=$(cut -d ' ' -f 2 "$run/curl.text")
}

make_cluster() {
	for name in anna bert carl; do
		echo "$name@example.com $(echo "$name's word" | "$front/smtp-front-users" hash)"
	done >"$run/cluster-users.txt"
	"$front/smtp-front-users" build --database "$run/cluster-users.mdb" --logins "$run/cluster-logins.mdb" \
		"$run/cluster-users.txt" >"$run/users.out" 2>&1 || fail "smtp-front-users build: see $run/users.out"
	echo "    \$ ceph-mon ..., ceph-osd ...      # on each of three nodes, from empty directories"
	start_rados
	for node in $nodes; do
		write_node_configs "$node" "$(node_address "$node")"
	done
	sed 's/^/      /' "$run/a-stored.conf"
	for node in $nodes; do
		start_node "$node"
	done
	for node in $nodes; do
		list_node "$node"
	done
}

show_cluster() {
	make_cluster
	wait_node b health 0
	ask_node b nodes 0
	ask_node b health 0
	send_to a "taken at node a"
	list_at a
	before=$ids
	[ "$(echo "$before" | wc -w)" = 1 ] || fail "anna does not have one mail"
	echo "    kill -9 of all processes of node a"
	kill_node a
	list_at b
	[ "$ids" = "$before" ] || fail "node b does not have the mail with the same id"
	echo "      the same id at node b"
	fetch_at c "RETR 1"
	grep '^Subject: ' "$run/curl.text" | sed 's/^/      /'
	grep -q '^Subject: taken at node a' "$run/curl.text" || fail "node c does not have the mail"
	send_to b "while node a is dead"
	wait_node b health 1
	ask_node b health 1
	ask_node b nodes 0
	echo "    node a begins again"
	tell_rados start a
	start_node a
	list_at a
	[ "$(echo "$ids" | wc -w)" = 2 ] || fail "node a does not have both mails"
	fetch_at a "RETR 2"
	grep '^Subject: ' "$run/curl.text" | sed 's/^/      /'
	wait_node c health 0
	ask_node c health 0
	ask_node c check 0
}
