# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/kernel/deb
# What make deb says at its end. Sourced by scripts/kernel/deb.

# finish: list the packages, and print the commands that install them
finish() {
	local release name file names='' files=''
	release=$(cat "$out/include/config/kernel.release")
	cd "$dir" || exit
	# Without modules, there is no package of headers
	for name in "linux-image-$release" "linux-headers-$release"; do
		for file in ./"$name"_*.deb; do
			[ ! -f "$file" ] || names="$names $name" files="$files $file"
		done
	done
	echo "The packages, in $dir:"
	# shellcheck disable=SC2086 # a list
	du -m -- $files | awk '{ print "    " substr($2, 3) ", " $1 " MiB" }'
	cat <<-EOF
	Nothing is installed yet. To do that, and boot the kernel:
	    cd $dir && sudo apt-get install$files
	    sudo reboot    # "Advanced options" of the boot menu has Linux $release
	To see that it has the events:
	    cd /sys/kernel/tracing && sudo sh -c 'echo trap:* >set_event; head trace_pipe'
	    make trapstat && sudo build/trapstat/trapstat -C
	To get rid of it, from another kernel:
	    sudo apt-get purge$names
	EOF
	exit
}
