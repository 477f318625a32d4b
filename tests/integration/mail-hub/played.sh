#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs of the system as a machine of machines.py has them: what this is called by says which.
set -eu

fail() {
	echo "$*" >&2
	exit 1
}

# Those of its own machine: no other process is seen.
pids_of() {
	for directory in /proc/[0-9]*; do
		words=$(tr '\0' ' ' <"$directory/cmdline" 2>/dev/null) || continue
		case $words in
		"$1 "*) echo "${directory#/proc/}" ;;
		esac
	done
}

wait_for() {
	tries=1200
	until eval "$1"; do
		tries=$((tries - 1))
		if [ "$tries" = 0 ]; then
			echo "waited in vain for $1" >&2
			return 1
		fi
		sleep 0.1
	done
}

small="--bluestore_block_size=10737418240 --bluestore_cache_autotune=false --bluestore_cache_size=67108864"

command_of() {
	daemon=${1%@*}
	id=${1#*@}
	case $daemon in
	ceph-mon | ceph-mgr) echo "$daemon --cluster ceph --id $id --setuser ceph --setgroup ceph" ;;
	ceph-osd) echo "$daemon --cluster ceph --id $id --setuser ceph --setgroup ceph $small" ;;
	mail-hub) echo "mail-hub" ;;
	*) fail "no unit $1" ;;
	esac
}

start() {
	if [ "$1" != mail-hub ]; then
		# shellcheck disable=SC2046 # words of a command
		$(command_of "$1")
		return
	fi
	: >>/var/log/mail-hub.log
	before=$(grep -c '\[mail-hub\] ready, ' /var/log/mail-hub.log) || true
	PATH=$PATH setsid /usr/local/sbin/mail-hub >>/var/log/mail-hub.log 2>&1 </dev/null &
	wait_for '[ "$(grep -c "\[mail-hub\] ready, " /var/log/mail-hub.log)" -gt '"$before ]" ||
		fail "mail-hub: $(cat /var/log/mail-hub.log)"
}

stop() {
	for pid in $(pids_of "$(command_of "$1")") $(pids_of "/usr/local/sbin/$1"); do
		kill "$pid" 2>/dev/null || true
		wait_for "! kill -0 $pid 2>/dev/null"
	done
}

case ${0##*/} in
apt-get) ;;
scp)
	shift # -p
	for to; do :; done
	while [ $# -gt 1 ]; do
		cp --preserve=mode "$1" "$MACHINES/machine-${to%%:*}/etc-ceph"
		shift
	done
	;;
ceph-volume)
	id=
	[ "$3" != --osd-id ] || id=$4
	uuid=$(cat /proc/sys/kernel/random/uuid)
	key=$(ceph-authtool --gen-print-key)
	# shellcheck disable=SC2086 # there may be none
	id=$(echo "{\"cephx_secret\": \"$key\"}" | ceph --name client.bootstrap-osd \
		--keyring /var/lib/ceph/bootstrap-osd/ceph.keyring osd new "$uuid" $id -i -)
	place=/var/lib/ceph/osd/ceph-$id
	rm -rf "$place"
	mkdir -p "$place"
	ceph-authtool --create-keyring "$place/keyring" --name "osd.$id" --add-key "$key" >/dev/null
	chown -R ceph: "$place"
	# shellcheck disable=SC2086 # words
	runuser -u ceph -- ceph-osd -i "$id" --mkfs --osd-uuid "$uuid" $small
	start "ceph-osd@$id"
	;;
systemctl)
	verb=$1
	for unit; do :; done
	case $verb in
	enable | start) start "$unit" ;;
	disable | stop) stop "$unit" ;;
	*) fail "systemctl $*" ;;
	esac
	;;
esac
