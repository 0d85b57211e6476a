# shellcheck shell=bash
# What the demo prints: headings, what it is about to do, the commands it runs, what was checked.

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
	bold=$'\e[1m' blue=$'\e[1;36m' green=$'\e[32m' yellow=$'\e[33m' red=$'\e[1;31m' plain=$'\e[0m'
else
	bold='' blue='' green='' yellow='' red='' plain=''
fi
step=0

heading() {
	printf '\n%s%s%s\n' "$blue" "$*" "$plain"
}

# next_step TITLE [LINE]...: with a few lines of explanation.
next_step() {
	((step += 1))
	heading "$step. $1"
	shift
	printf '%s\n' "$@"
}

# show COMMAND...: as a person would type it, then what it prints.
show() {
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
	"$@"
}

# quote TEXT: what the API server answered.
quote() {
	printf '%s%s%s\n' "$yellow" "$1" "$plain"
}

checked() {
	printf '%sok:%s %s\n' "$green" "$plain" "$*"
}

failed() {
	printf '%sFAILED:%s %s\n' "$red" "$plain" "$*"
	exit 1
}

# await SECONDS WHAT COMMAND...: polls a condition, and tells that it came true.
await() {
	local seconds=$1 what=$2
	shift 2
	wait_until "$seconds" "$@" || failed "not within $seconds s: $what"
	checked "$what"
}
