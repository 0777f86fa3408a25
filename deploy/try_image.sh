#!/bin/bash
# Builds the image of deploy/Dockerfile without a Docker daemon, and runs it as Kubernetes would: as its user, with a
# read-only root file system, without privileges, and with one writable folder.
#
#   deploy/try_image.sh [--stand-ins] FOLDER
#
# It needs root on Linux, and buildah (apt install buildah). FOLDER gets several GB. With --stand-ins, the two base images
# are not pulled but made of the same Debian packages (apt install mmdebstrap), with the Node of this repository.
# BUILD_FLAGS are further flags for `buildah build`, for example to mount certificates of a proxy.
set -euo pipefail

stand_ins=false
if [ "${1:-}" = --stand-ins ]; then stand_ins=true; shift; fi
if [ $# -ne 1 ]; then sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; fi
mkdir -p "$1"
folder=$(realpath "$1")
root=$(realpath "$(dirname "$0")/..")
export BUILDAH_ISOLATION=chroot
store() { buildah --storage-driver vfs --root "$folder/store" --runroot "$folder/run" "$@"; }

# Makes an image of a folder.
image_of() {
  local container
  container=$(store from scratch)
  store add --quiet "$container" "$1" / > /dev/null
  store commit --quiet "$container" "$2" > /dev/null
  store rm "$container" > /dev/null
}

node_version=$(sed -n 's/^ARG NODE=//p' "$root/deploy/Dockerfile")
build_base=docker.io/library/node:$node_version-bookworm-slim
run_base=gcr.io/distroless/cc-debian12:nonroot

if $stand_ins; then
  if [ ! -d "$folder/node" ]; then
    echo "Making a stand-in of $build_base …"
    mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$folder/node"
    cp -L "$root/node_modules/node/bin/node" "$folder/node/usr/local/bin/node"
    mkdir -p "$folder/node/usr/local/lib/node_modules"
    cp -R "$(dirname "$(dirname "$(realpath "$(command -v npm)")")")" "$folder/node/usr/local/lib/node_modules/npm"
    ln -s ../lib/node_modules/npm/bin/npm-cli.js "$folder/node/usr/local/bin/npm"
    image_of "$folder/node" "$build_base"
  fi
  if [ ! -d "$folder/distroless" ]; then
    echo "Making a stand-in of $run_base …"
    mkdir -p "$folder/packages" "$folder/distroless/etc" "$folder/distroless/home/nonroot" "$folder/distroless/tmp"
    # The packages of that image.
    (cd "$folder/packages" && apt-get download --quiet base-files netbase tzdata ca-certificates libc6 libssl3 libgcc-s1 \
      libgomp1 libstdc++6 gcc-12-base)
    for package in "$folder"/packages/*.deb; do dpkg-deb --extract "$package" "$folder/distroless"; done
    rm -rf "$folder/distroless/usr/share/doc" "$folder/distroless/usr/share/man"
    chmod 1777 "$folder/distroless/tmp"
    mkdir -p "$folder/distroless/etc/ssl/certs"
    find "$folder/distroless/usr/share/ca-certificates" -name '*.crt' -exec cat {} + \
      > "$folder/distroless/etc/ssl/certs/ca-certificates.crt"
    printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' \
      > "$folder/distroless/etc/passwd"
    printf 'root:x:0:\nnonroot:x:65532:\n' > "$folder/distroless/etc/group"
    image_of "$folder/distroless" "$run_base"
  fi
  pull=--pull-never
else
  pull=--pull
fi

echo "Building …"
# shellcheck disable=SC2086 # several flags
store build $pull --no-cache ${BUILD_FLAGS:-} --format docker --file "$root/deploy/Dockerfile" --tag grantd \
  --build-arg VERSION="$(sed -n 's/.*"version": "\(.*\)".*/\1/p' "$root/server/package.json")" "$root" \
  > "$folder/build.log" 2>&1 || { tail -40 "$folder/build.log" >&2; exit 1; }

container=$(store from --pull-never grantd)
image=$(store mount "$container")
unmount() { store umount "$container" > /dev/null; store rm "$container" > /dev/null; }
trap unmount EXIT
size=$(du --summarize --apparent-size --block-size=1 "$image" | cut -f1)
echo "Size: $((size / 1000000)) MB (limit: 150)"
compressed=$(tar --create --directory "$image" . | gzip --fast | wc --bytes)
echo "Compressed: $((compressed / 1000000)) MB"
echo "Components in the SBOM: $(grep --count '"bom-ref"' "$image/usr/local/share/grantd.cdx.json")"
store inspect --type image --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' grantd

# In namespaces of its own, the image is the root file system, mounted read-only.
sandbox() {
  unshare --mount --pid --ipc --uts --fork --kill-child=SIGKILL --mount-proc bash -euc '
    mount --bind "$1" "$1"
    mount -o remount,bind,ro "$1"
    mount --bind "$2" "$1/var/lib/grantd"
    mount -t proc proc "$1/proc"
    shift 2
    exec "$@"' sandbox "$image" "$folder/volume" "${@}"
}
rm -rf "$folder/volume"
mkdir -p "$folder/volume"
chown 65532:65532 "$folder/volume"
mkdir -p "$image/proc"
settings=(PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin NODE_ENV=production MALLOC_ARENA_MAX=2 GRANTD_HOST=127.0.0.1 GRANTD_PORT=4180
  GRANTD_DATABASE=sqlite:/var/lib/grantd/grantd.db)
program=(/usr/local/bin/grantd)
as_image() {
  # chroot needs a capability, which goes away with the change of the user.
  sandbox env --ignore-environment "${settings[@]}" \
    setpriv --no-new-privs chroot --userspec=65532:65532 --groups= "$image" "$@"
}

echo "Writing outside of the volume:"
cp "$root/node_modules/node/bin/node" "$folder/volume/node" # the image itself has nothing that could write a file
as_image /var/lib/grantd/node -e '
  for (const file of ["/x", "/usr/local/bin/x", "/tmp/x", "/var/lib/grantd/x"])
    try { require("fs").writeFileSync(file, ""); console.log(" ", file, "written"); }
    catch ({ code }) { console.log(" ", file, code); }'
rm -f "$folder/volume/x" "$folder/volume/node"

started=$(date +%s%3N)
as_image "${program[@]}" serve > "$folder/serve.log" 2>&1 &
server=$!
until curl --silent --fail --output /dev/null http://127.0.0.1:4180/health/ready; do
  kill -0 $server || { cat "$folder/serve.log" >&2; exit 1; }
  sleep 0.02
done
echo "Start until it is ready, with a new database: $(($(date +%s%3N) - started)) ms"
echo "Health check: $(as_image "${program[@]}" health)"
echo "Account page: $(curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1:4180/account)"
echo "A client: $(as_image "${program[@]}" client add api --resource https://api.example.com | head -n 1)"
pid=$(pgrep --parent "$(pgrep --parent $server)" || pgrep --parent $server)
echo "User and group of the server: $(stat --format '%u %g' "/proc/$pid")"
kill -TERM $pid
wait $server && echo "Ended with 0"
