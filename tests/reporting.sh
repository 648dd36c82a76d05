# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # variables of tests/check
# How the parts run their tests and say what came of it. Sourced by tests/check.

# A result, as tap.py takes it: the part, a tab, and a line of TAP without its number.
# After a failure's, what repeats it: ONLY, and the settings that a part has in repeat_with
group='' repeat_with=''
pass() { printf '%s\tok - %s\n' "$this" "$*"; }
skip() { printf '%s\tok - %s # SKIP %s\n' "$this" "$1" "$2"; }
fail() { printf '%s\tnot ok - %s\t%s\t%s\n' "$this" "$*" "${group:-$*}" "$repeat_with"; }
fail_part() { printf '%s\tnot ok - %s\t\t%s\n' "$this" "$*" "$repeat_with"; }

# skip_part REASON: this part cannot run here, or this group of its tests
skip_part() {
	skip "${group:-$this}" "$1"
	exit
}

# With these, checkpatch knows licences
licences='/usr/lib/python3/dist-packages/git /usr/lib/python3/dist-packages/ply'

# have 'COMMAND|FILE...' TEST: whether these are there; else the test is skipped
have() {
	local wanted
	for wanted in $1; do
		if ! command -v "$wanted" >/dev/null && [ ! -e "$wanted" ]; then
			! selected "$2" || skip "$2" "there is no $wanted"
			return 1
		fi
	done
}

# need PROGRAM...: without one of these, this part cannot run here
need() {
	local wanted
	for wanted in "$@"; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$wanted" >/dev/null ||
			skip_part "there is no $wanted"
	done
}

# no_source WHAT LOG: this part cannot run here for the reason that a script gave in LOG;
# a script that gave none has failed
no_source() {
	local why
	why=$(sed -n 's/^error: //p' "$2")
	[ ! "$why" ] || skip_part "$why"
	fail_part "$1 (log: $2)"
	exit
}

# selected NAME: whether ONLY asks for it. Tests that need each other's results have
# the variable group set while they are defined, and are asked for by that name.
selected() {
	local only="${ONLY:-}"
	case ${group:-$1} in
	"${only%%, *}"*)	true ;;
	*)			false ;;
	esac
}

# check NAME COMMAND...: run one test. Its output goes into a log. If it fails, the end of
# the log is printed in one piece, as other parts print results, too. A test that cannot
# run here fails, and writes the reason into the file $cannot: then it is a skip.
minutes_since() { echo "$((($(date +%s) - $1) / 60)) min: $2"; }
check() {
	local name="$1" log cannot ticker code=0
	selected "$name" || return 0
	shift
	log=$logs/$(echo "$name" | tr -cs 'A-Za-z0-9\n' - | cut -c 1-120).log
	cannot=${log%.log}.cannot
	rm -f "$cannot"
	say "$name"
	tick 60 minutes_since "$(date +%s)" "$name" &
	ticker=$!
	"$@" >"$log" 2>&1 </dev/null || code=$?
	kill "$ticker" 2>/dev/null || true
	if [ $code = 0 ]; then
		pass "$name"
	elif [ -s "$cannot" ]; then
		skip "$name" "$(cat "$cannot")"
	else
		printf '%s\n%s\n# log: %s\n' "$(fail "$name")" \
			"$(tail -n 15 "$log" | cut -c 1-200 | sed 's/^/# /')" "$log"
	fi
}

# check_with 'COMMAND|FILE...' NAME COMMAND...: a test, or a skip if one of these is not there
check_with() {
	local wanted="$1"
	shift
	! have "$wanted" "$1" || check "$@"
}

# check_slow NAME COMMAND...: a test that make check leaves out
check_slow() {
	if [ "${TRAP_FAST:-}" ]; then
		! selected "$1" || skip "$1" "make check-$this runs it"
	else
		check "$@"
	fi
}

# sources_copy DIR: a copy of the repository, with an empty .git: it has no user.name of its own
sources_copy() {
	rm -rf "$1" && plain_git init -q "$1" &&
	(cd "$top" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$1"
}

# fails WORDS COMMAND...: COMMAND fails, and says WORDS in its one line of error
fails() {
	local words="$1" said
	shift
	! said=$("$@" 2>&1 </dev/null) || { echo "this did not fail: $*"; return 1; }
	printf '%s\n' "$said"
	said=$(printf '%s\n' "$said" | grep '^error: ')
	[ "$(printf '%s\n' "$said" | wc -l)" = 1 ] && printf '%s\n' "$said" | grep -F -- "$words"
}

# in_file FILE PATTERN...: each is in a line, between any spaces
in_file() {
	local file="$1" pattern
	shift
	for pattern in "$@"; do
		tr -s ' ' <"$file" | grep -qE -e "$pattern" ||
			{ echo "there is no '$pattern' in $file"; cat "$file"; return 1; }
	done
}

# same EXPECTED TEXT: whether they are the same, and where not
same() {
	printf '%s\n' "$1" | diff - /dev/fd/3 3<<-END
		$2
	END
}
