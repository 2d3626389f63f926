#!/bin/bash
# Runs in a blank Debian, with /weft.deb and the files beside this one: installs the package, starts the
# controller as its unit does, programs a group, and purges the package.
set -eu
files() { find / -xdev \( -path /proc -o -path /tmp -o -path /var/log -o -path /var/cache -o -path /var/lib/dpkg \
	-o -path /var/lib/apt -o -path /var/lib/systemd \) -prune -o -print | sort; }
step() { echo "$((($(date +%s%N) - begun) / 1000000)) ms: $*"; }
files >/tmp/before
begun=$(date +%s%N)

apt-get install -y -q /weft.deb >/tmp/apt
step "installed: $(weft version)"
for printed in /etc/weft/controller.yaml http://127.0.0.1:8080/ "systemctl enable --now weft"; do
	grep -qF "$printed" /tmp/apt
done
for f in weft weft-switch weft-nic; do test -f /usr/lib/systemd/system/$f.service; done
weft controller --check --config /etc/weft/controller.yaml
zcat /usr/share/man/man1/weft-get.1.gz | grep -q 'Show resources and state'
grep -q 'go.etcd.io/etcd/server/v3  Apache-2.0' /usr/share/doc/weft/copyright
grep -q weft /usr/share/bash-completion/completions/weft

# What systemd would run: a user without rights, and a directory that belongs to it.
start() {
	install -d -o daemon -g daemon -m 700 /var/lib/weft
	setpriv --reuid=daemon --regid=daemon --clear-groups env STATE_DIRECTORY=/var/lib/weft HOME=/nonexistent \
		$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/weft.service) 2>/tmp/controller &
	controller=$!
	until weft get switches >/tmp/switches 2>&1; do
		kill -0 $controller || { cat /tmp/controller; exit 1; }
		sleep 0.1
	done
}
start
exec 3<>/dev/tcp/127.0.0.1/8080
printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n\r\n' >&3
grep -qi '<title>weft' <&3
step "the controller answers, on the packaged file, and so does its dashboard"
kill $controller && wait $controller

cp /files/controller.yaml /etc/weft/controller.yaml
weft switch -i 1@p1 -i 2@p2 -i 3@p3 --grpc-server-addr 127.0.0.1:9559 2>/tmp/switch &
switch=$!
start
weft apply -f /files/group.yaml --wait 50s
step "the first group is programmed"
weft get tree g1
kill $controller $switch && wait $controller $switch

apt-get purge -y -q weft >/tmp/apt
files >/tmp/after
diff /tmp/before /tmp/after | grep -v '^[0-9]' >/tmp/left || true
if grep -v '^> /var/lib/weft' /tmp/left; then echo "apt purge leaves that behind"; exit 1; fi
grep -q '^> /var/lib/weft/etcd' /tmp/left || { echo "apt purge takes the data away"; exit 1; }
step "purged: only the data is left"
