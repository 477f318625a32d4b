# SPDX-License-Identifier: GPL-3.0-or-later
#
# setup.sh - what ./demo, ./check and campaigns share: steps, failures, packages.
# Sourced by them from the top of the tree; does nothing by itself but to make build/.

mkdir -p build # where all that is made here lies
step_name=start

# In front of a program: the kernel ends it with this script, however that ends. Not of a function, nor in a
# subshell, which is a process between the two.
tied='setpriv --pdeathsig TERM'

step() {
	step_name=$1
	printf '==> %s\n' "$1"
}

fail() {
	printf '%s: failed in step "%s": %s\n' "$0" "$step_name" "$1" >&2
	exit 1
}

# Runs a command whose output matters only when it fails; the output is kept
# in the file $1.
quietly() {
	output=$1
	shift
	if ! "$@" >"$output" 2>&1; then
		tail -n 40 "$output" >&2
		fail "$*: see $output"
	fi
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		fail "not root and no sudo, so this cannot be run: $*"
	fi
}

packages_lacking() {
	for package in "$@"; do
		case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
		installed) ;;
		*) printf '%s ' "$package" ;;
		esac
	done
}

# Debian starts a daemon when its package is installed, unless this file
# forbids it. One that stands there already is somebody else's decision.
policy_file=/usr/sbin/policy-rc.d
policy_is_ours=no

forbid_daemons() {
	[ -e "$policy_file" ] && return
	policy_is_ours=yes
	as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$policy_file && chmod 755 $policy_file"
}

permit_daemons() {
	[ "$policy_is_ours" = no ] && return
	as_root rm -f "$policy_file"
	policy_is_ours=no
}

# Installs what is lacking of the packages named, and nothing else.
need_packages() {
	if ! command -v dpkg-query >/dev/null; then
		echo "    not a Debian system; these must be there already: $*"
		return
	fi
	lacking=$(packages_lacking "$@")
	if [ -z "$lacking" ]; then
		echo "    all installed"
		return
	fi
	echo "    installing $lacking"
	trap permit_daemons EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	forbid_daemons
	quietly build/apt.log as_root apt-get update
	# shellcheck disable=SC2086 # one word for each package
	quietly build/apt.log as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install --yes --no-install-recommends $lacking
	permit_daemons
	trap - EXIT INT TERM
}

# The package of the library that lib/match scans with: Hyperscan's, which is for x86 alone and misses nothing
# (docs/scan.md), or Vectorscan's, also where that is installed already. They may not be beside one another.
name_scanner() {
	case $(dpkg --print-architecture) in
	amd64 | i386)
		[ -n "$(packages_lacking libvectorscan-dev)" ] && echo libhyperscan-dev && return
		;;
	esac
	echo libvectorscan-dev
}

# Unpacks packages into build/unpacked/PACKAGE, for programs that Debian lets
# nobody install beside one another, such as two mail servers. Nothing of them
# is set up: no user, no file in /etc. The libraries they name are installed.
need_unpacked() {
	command -v dpkg-deb >/dev/null || return
	for package in "$@"; do
		[ -d "build/unpacked/$package" ] || unpack_package "$package"
	done
}

unpack_package() {
	echo "    unpacking $1 into build/unpacked/$1"
	deb=build/unpacked/$1.part
	rm -rf "$deb"
	mkdir -p "$deb/root"
	if [ -z "$(apt-cache madison "$1" 2>/dev/null)" ]; then
		quietly build/apt.log as_root apt-get update
	fi
	(cd "$deb" && quietly ../../apt.log apt-get download "$1") || exit 1
	quietly build/apt.log dpkg-deb -x "$deb"/*.deb "$deb/root"
	# Of libhyperscan5 and what stands in for it one is there: name_scanner().
	# shellcheck disable=SC2046 # one word for each package
	need_packages $(dpkg-deb -f "$deb"/*.deb Pre-Depends Depends | tr ',:' '\n\n' |
		sed -n 's/^ *\(lib[a-z0-9.+-]*\).*/\1/p' | sort -u | grep -vx libhyperscan5)
	mv "$deb/root" "build/unpacked/$1"
	rm -rf "$deb"
}

# FreeBSD's headers, which Debian has in no package, as they come with a compiler for Python: into
# build/freebsd. It is large, so that what cannot be had is said and no failure.
need_freebsd_headers() {
	[ -d build/freebsd ] && return
	echo "    FreeBSD's headers into build/freebsd"
	rm -rf build/freebsd.part
	if /usr/bin/python3 -m pip download --quiet --no-deps --only-binary :all: \
		-d build/freebsd.part ziglang==0.17.1 >build/freebsd.log 2>&1 &&
		/usr/bin/python3 tests/freebsd-headers build/freebsd.part/*.whl build/freebsd.part/include \
			>>build/freebsd.log 2>&1; then
		mv build/freebsd.part/include build/freebsd
	else
		echo "    not to be had, see build/freebsd.log; the test \"portable\" leaves them out"
	fi
	rm -rf build/freebsd.part
}

# Haraka and koffi into build/npm, where there is a Node.js that they take. What cannot be had is no
# failure.
need_npm() {
	[ -d build/npm ] && return
	if ! command -v npm >/dev/null ||
		! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
		echo "    no npm, or no Node.js 20: the test \"haraka\" is skipped"
		return
	fi
	echo "    Haraka and koffi into build/npm"
	rm -rf build/npm.part
	if timeout 300 npm install --prefix build/npm.part --no-audit --no-fund --ignore-scripts \
		Haraka@3.3.4 koffi@3.3.4 >build/npm.log 2>&1; then
		mv build/npm.part build/npm
	else
		rm -rf build/npm.part
		echo "    not to be had, see build/npm.log; the test \"haraka\" is skipped"
	fi
}

# Configures build/$1; the rest are options of meson setup.
configure_tree() {
	name=$1
	shift
	if [ -e "build/$name/build.ninja" ]; then
		quietly "build/$name.log" meson setup --reconfigure "$@" "build/$name"
	else
		# A set-up that was interrupted leaves a directory that Meson will not reuse.
		rm -rf "build/$name"
		quietly "build/$name.log" meson setup "$@" "build/$name"
	fi
}

# Configures and builds build/$1; the rest are options of meson setup.
build_tree() {
	configure_tree "$@"
	quietly "build/$1.log" ninja -C "build/$1"
}
