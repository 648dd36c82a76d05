# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2086,SC2154 # lists; variables of scripts/kernel/build
# The configuration of a kernel. Sourced by scripts/kernel/build.

of_tree=''
[ "$name" != kasan ] || of_tree=$src/kernel/configs/x86_debug.config

# fragments FRAGMENT...: the files for this kernel, with these and that of its base
fragments() {
	local kernel="${name%-base}" files of_base="${dir#"$build"/}"
	case $kernel in
	cost)			files= ;;
	run | btf | guest)	files=$kernel ;;
	arm64-*)		files="ports arm64 $kernel" ;;
	arm64 | riscv)		files="ports $kernel" ;;
	*)			files="guest $kernel" ;;
	esac
	printf "$top/configs/%s.config\n" common $files
	of_base=$top/bases/${of_base%%/*}/kernel.config
	[ ! -f "$of_base" ] || set -- "$@" "$of_base"
	printf '%s\n' "$@"
}

# configure FRAGMENT...: write $out/.config
configure() {
	{
		kmake -s tinyconfig
		(cd "$src" && scripts/kconfig/merge_config.sh -m -O "$out" "$out/.config" $of_tree "$@")
		kmake -s olddefconfig
	} >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "the configuration failed (see $log)"; }
	has_all "$@"
}

# gone SYMBOL FRAGMENT...: only the tree's x86_debug.config asks for it, and no Kconfig has it
gone() {
	gone=${1#CONFIG_}
	shift
	! grep -qE "^(# )?CONFIG_${gone}[= ]" "$@" &&
	! grep -rqwE --include='Kconfig*' "^[[:space:]]*(menu)?config $gone" "$src"
}

# has_all FRAGMENT...: fails if $out/.config lacks what these and $of_tree ask for. The last one
# that names a symbol decides what it is to be
has_all() {
	local asked="$of_tree $*" values='([ym]|[0-9]+)' symbol
	case $name in
	built/clang-*)	;;
	# It only takes something away, on which something of guest.config may hang
	built/*)	asked=$top/configs/$name.config values='([ymn]|[0-9]+)' ;;
	esac
	sed -nE 's/^(CONFIG_[A-Z0-9_]*)=(.*)/\1 \2/p
		s/^# (CONFIG_[A-Z0-9_]*) is not set$/\1 n/p' $asked |
		awk -v values="^$values\$" '{ want[$1] = $2 }
			END { for (s in want) if (want[s] ~ values) print s "=" want[s] }' |
		sort | while read -r symbol; do
		case $symbol in
		*=n)	! grep -q "^${symbol%n}" "$out/.config" ;;
		*)	grep -qx "$symbol" "$out/.config" ;;
		esac || {
			case $* in
			*/foreign.config*)	;;
			*)	gone "${symbol%%=*}" "$@" ||
				die "the .config has no $symbol: check its dependencies in $src" ;;
			esac
			say "this tree has no $symbol: left out"
		}
	done
}
