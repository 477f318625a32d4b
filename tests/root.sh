# SPDX-License-Identifier: GPL-3.0-or-later
#
# root.sh - a Debian 12 that has never seen us, for tests/fresh-machine, tests/package and
# tests/campaign-arm64. Sourced by them; does nothing by itself.

# own_namespaces NAME SCRIPT ARGUMENT ...: begins SCRIPT anew with mounts and
# processes of its own, and ends when it does; both are gone then, however it
# ends. Returns in the new one alone, where $work is a directory that is freed
# at the end.
own_namespaces() {
	name=$1
	shift
	work=${DNSBLV6_WORK-}
	[ -z "$work" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		echo "$name: must be root" >&2
		exit 77
	fi
	DNSBLV6_WORK=$(mktemp -d "${TMPDIR:-/var/tmp}/$name.XXXXXX")
	# Servers of a test have users of their own, and read below it.
	chmod 755 "$DNSBLV6_WORK"
	export DNSBLV6_WORK
	trap 'rm -rf --one-file-system "$DNSBLV6_WORK"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	unshare --mount --pid --fork --kill-child --mount-proc "$@"
	exit
}

# make_root DIRECTORY BASE: a copy of BASE, which debootstrap made before, or
# when it is empty a new root from DEBIAN_MIRROR or the mirror that debootstrap
# knows.
make_root() {
	if [ -n "$2" ]; then
		mkdir -p "$1"
		cp -a "$2/." "$1"
	else
		debootstrap --variant=minbase bookworm "$1" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
	fi
	# The updates as well, from the mirror that the root was made from; and how this
	# machine reaches it: proxies, and mirrors of an older date.
	sed -n 's/bookworm main/bookworm-updates main/p' "$1/etc/apt/sources.list" \
		>"$1/etc/apt/sources.list.d/updates.list"
	apt-config dump Acquire | grep -E '::Proxy|::Check-' >"$1/etc/apt/apt.conf.d/99test-root" ||
		true
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	mount_system "$1"
}

# What programs expect to find in a root: one that is a file system of its own, which
# unshare(1) wants, too.
mount_system() {
	mount --bind "$1" "$1"
	mount -t proc proc "$1/proc"
	mount --rbind /sys "$1/sys"
	mount --rbind /dev "$1/dev"
}

# in_root DIRECTORY COMMAND ...: with nothing of our environment.
in_root() {
	directory=$1
	shift
	chroot "$directory" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
