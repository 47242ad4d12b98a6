#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the facts of a host, and leaves no change on it:  sh -s -- NONCE ROOT TMPDIR [LIMIT_S [PROBE...]] < collect.sh
#
# All probes, or those named, run at once and write to files of their own. One that outlives the limit is killed but never
# waited for, as an nvidia-smi in uninterruptible sleep does not die. Each answer is printed as
#     @@NONCE name status        status: exit code, or "timeout"
# and its text; the frame "end" comes last, so that a broken-off answer shows.

PATH=${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/nvidia/bin
PATH=$PATH:/usr/lib/wsl/lib:/opt/nvidia/bin:/opt/bin:/run/current-system/sw/bin # WSL, CoreOS and others, NixOS: not on ssh's
LC_ALL=C
export PATH LC_ALL
umask 077

in_home() {
    # shellcheck disable=SC2088  # a literal ~ in the argument, which no shell has expanded
    case $1 in
        '~') printf '%s\n' "$HOME" ;;
        '~/'*) printf '%s\n' "$HOME/${1#'~/'}" ;;
        *) printf '%s\n' "$1" ;;
    esac
}

nearest() { # the first of $1 and its parents that exists
    place=$1
    while [ ! -e "$place" ] && [ ! -L "$place" ] && [ "$place" != "${place%/*}" ]; do
        place=${place%/*}
    done
    printf '%s\n' "${place:-/}"
}

space() { # of the file system of $1: KiB, and inodes where they are counted
    df -Pk "$1"
    status=$?
    df -Pi "$1" 2>/dev/null
    [ "$(stat -f -c %T "$1")" != tmpfs ] || echo 'in memory'
    return $status
}

disk() {
    space "$(nearest "$1")"
}

identity() { # of $1, whatever leads there: device and inode of the nearest folder, and what is to come below
    place=$(nearest "$1") && printf '%s %s\n' "$(stat -Lc %d:%i "$place")" "${1#"$place"}"
}

trial() { # tries $1 in a new folder where $2 is or will be, if this user may write there; the folder goes
    place=$(nearest "$2")
    [ -d "$place" ] && [ -w "$place" ] && [ -x "$place" ] || return 0
    here=${place%/}/.rekindle-$nonce-$name
    "$1"
    status=$?
    rm -rf "$here"
    return $status
}

files() { # makes, links and locks a file, as environments do
    mkdir "$here" && head -c 65536 /dev/zero >"$here/file" && chmod 700 "$here/file" && ln -s file "$here/link" &&
        { ! command -v flock >/dev/null || flock -n "$here/file" true; }
}

start() { # starts a program; what keeps its file from being made is told by files()
    { mkdir "$here" && printf '#!/bin/sh\n' >"$here/file"; } 2>/dev/null || return 0
    chmod 700 "$here/file"
    "$here/file"
}

# Reserves for a moment what is to be free at $root, as a quota shows in no figure of df. The file has no name by then, so
# that nothing stays of it. What cannot reserve says nothing, and memory is not reserved.
room() {
    [ -n "${REKINDLE_ROOM-}" ] && [ "$(stat -f -c %T "$place")" != tmpfs ] || return 0
    { mkdir "$here" && true >"$here/file"; } 2>/dev/null || return 0
    exec 9>"$here/file" && rm "$here/file"
    ! fallocate -n -l "$REKINDLE_ROOM" /proc/self/fd/9 2>&1 | grep 'quota exceeded'
}

groups() { # folders of this process's groups for the controller $1, on the way up, of either release
    while IFS=: read -r _ of path; do
        case ,$of, in
            ,,) base=/sys/fs/cgroup ;;
            *",$1,"*) base=/sys/fs/cgroup/$1 ;;
            *) continue ;;
        esac
        [ -d "$base$path" ] || path=
        while :; do
            printf '%s\n' "$base$path"
            [ -n "$path" ] && [ "$path" != / ] || break
            path=${path%/*}
        done
    done </proc/self/cgroup
}

first_of() { # the content of the first of these files that is there
    for file; do
        [ -r "$file" ] && cat "$file" && return
    done
    return 1
}

memory() { # of the machine, and what is left of this process's groups, where they have a limit
    cat /proc/meminfo || return
    groups memory | while read -r group; do
        limit=$(first_of "$group/memory.max" "$group/memory.limit_in_bytes") && [ "$limit" != max ] || continue
        used=$(first_of "$group/memory.current" "$group/memory.usage_in_bytes") || continue
        file=$(sed -n 's/^\(total_\)\{0,1\}inactive_file //p' "$group/memory.stat" 2>/dev/null | tail -n 1)
        echo "GroupAvailable: $((limit / 1024 - (used - ${file:-0}) / 1024)) kB"
    done
}

cores() { # that this login may run on, and the share of them that each of its groups has
    env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc || return
    groups cpu | while read -r group; do
        # shellcheck disable=SC2046  # words
        set -- $(cat "$group/cpu.max" 2>/dev/null || cat "$group/cpu.cfs_quota_us" "$group/cpu.cfs_period_us" 2>/dev/null)
        [ "${1:-0}" -gt 0 ] 2>/dev/null && [ "${2:-0}" -gt 0 ] && echo $((($1 + $2 - 1) / $2))
    done | sort -n
}

limits() {
    printf 'file=%s\nmemory=%s\ndata=%s\ntime=%s\n' "$(ulimit -f)" "$(ulimit -v)" "$(ulimit -d)" "$(ulimit -t)"
}

interpreter() { # whether the inventory's Python, a path or a command with arguments, can be started
    # shellcheck disable=SC2086  # words
    set -- ${REKINDLE_PYTHON:-true}
    python=$(in_home "$1")
    shift
    "$python" "$@" -c ''
}

astray() { # whether a Python fails for the login's PYTHONHOME or PYTHONPATH alone: which of them are set
    [ -n "${PYTHONHOME-}${PYTHONPATH-}" ] || return 0
    for python in "$(command -v python3)" /usr/bin/python3; do
        [ -x "$python" ] && "$python" -I -S -B -c '' 2>/dev/null || continue
        "$python" -B -c 'import json, logging, subprocess, zipfile' && continue
        printf '%s: %s\n' "$python" "${PYTHONHOME:+PYTHONHOME=$PYTHONHOME }${PYTHONPATH:+PYTHONPATH=$PYTHONPATH}"
        return 6
    done 2>/dev/null
}

tried() { # a program in python3; a Python that does not start it, as a shim without one, says nothing of the host
    python=$(command -v python3) || return 0
    "$python" -I -S -B -c "$@"
    status=$?
    case $status in
        1 | 2 | 126 | 127) return 0 ;;
    esac
    return $status
}

# Whether CUDA starts, without a context on a GPU, so that nothing of it shows there.
cuda_says='
import ctypes, os, sys
os.environ.pop("CUDA_VISIBLE_DEVICES", None)
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    print(error)
    sys.exit(3 if "cannot open shared object file" in str(error) else 4)
count, name, words = ctypes.c_int(), ctypes.c_char_p(), ctypes.c_char_p()
status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
if status:
    cuda.cuGetErrorName(status, ctypes.byref(name))
    cuda.cuGetErrorString(status, ctypes.byref(words))
    print("%s (%d): %s" % ((name.value or b"?").decode(), status, (words.value or b"?").decode()))
    sys.exit(5)
'

cuda() {
    [ -z "$(command -v nvidia-smi)" ] || tried "$cuda_says"
}

# What each job needs of a host, tried; what is in the way is printed in its own words.
need_says='
import os, sys

def write(folder):
    path = "%s/.rekindle-%d" % (folder, os.getpid())
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)

def files():
    held = [open(os.devnull) for _ in range(256)]

def threads():
    import threading
    threading.stack_size(1 << 16)  # other limits are on memory
    ends = threading.Event()
    try:
        for _ in range(128):
            threading.Thread(target=ends.wait, daemon=True).start()
    finally:
        ends.set()

def locked(): # as the driver of a network card locks what NCCL sends from
    import ctypes, glob
    if glob.glob("/dev/infiniband/uverbs*"):
        memory = ctypes.create_string_buffer(64 << 20)
        if ctypes.CDLL(None, use_errno=True).mlock(memory, len(memory)):
            raise Exception(os.strerror(ctypes.get_errno()))

def loopback():
    import socket
    try:
        server = socket.socket(socket.AF_INET6)
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", 0))
    except OSError:
        server = socket.socket()
        server.bind(("", 0))
    server.listen(1)
    socket.create_connection(("localhost", server.getsockname()[1]), 5).close()

def semaphore():
    import multiprocessing
    multiprocessing.Lock()
    write("/dev/shm")

def tmp():
    write("/tmp")

def name(): # as multiprocessing names a socket
    import socket
    path = os.path.join(sys.argv[2], "pymp-12345678", "listener-12345678")
    try:
        socket.socket(socket.AF_UNIX).bind(path)
    except OSError as error:
        if error.errno is None:
            raise

try:
    globals()[sys.argv[1]]()
except Exception as error:
    print(str(error) or type(error).__name__)
    sys.exit(6)
'

private() { # whether a folder's owner $1, this user or root, is alone in its group $2
    owner=root
    [ "$1" = 0 ] || owner=$(id -un)
    entry=$(getent group "$2" 2>/dev/null || grep "^[^:]*:[^:]*:$2:" /etc/group)
    case $entry in
        "$owner":*: | "$owner":*:"$owner") ;;
        *) return 1 ;;
    esac
    awk -F: -v group="$2" -v owner="$1" '$4 == group && $3 != owner && $3 >= 500 { others = 1 } END { exit others }' /etc/passwd
}

whole_machine() { # whether this user namespace has all of the machine's users
    [ "$(tr -s ' ' 2>/dev/null </proc/self/uid_map)" = ' 0 0 4294967295' ]
}

# Why others could put files of theirs in the place of $1, which need not exist: "owner PATH UID", "group PATH GID" or
# "all PATH" of the first folder or link on its way; nothing if they cannot. In a user namespace 65534 stands for whoever
# it does not have, as for the machine's root. What lies in a sticky folder is its owner's alone; $2: and so is $1 itself.
others() (
    at=/ rest=${1#/} itself=${2-} links=${3:-0}
    while mode=$(ls -ldn "$at" 2>/dev/null); do
        # shellcheck disable=SC2086  # a line of words
        set -- $mode
        case $3 in
            0 | "$(id -u)") ;;
            65534) whole_machine && echo "owner $at $3" && return ;;
            *) echo "owner $at $3" && return ;;
        esac
        case $1 in
            l*)
                target=$(readlink "$at")
                [ "$target" != "${target#/}" ] || target=${at%/*}/$target
                [ "$links" -lt 20 ] || { echo "owner $at ?" && return; }
                found=$(others "$target${rest:+/$rest}" "$itself" $((links + 1)))
                [ -z "$found" ] || echo "$found"
                return
                ;;
            ?????????[tT]*) [ -n "$itself" ] && [ -z "$rest" ] || mode= ;;
        esac
        case ${mode:+$1} in
            ????????w*) echo "all $at" && return ;;
            ?????w????+) echo "group $at $4" && return ;;
            ?????w*) private "$3" "$4" || { echo "group $at $4" && return; } ;;
        esac
        while [ "$rest" != "${rest#/}" ]; do
            rest=${rest#/}
        done
        [ -n "$rest" ] || return
        at=${at%/}/${rest%%/*}
        case $rest in
            */*) rest=${rest#*/} ;;
            *) rest= ;;
        esac
    done
)

# What makes the folder $1 no place for ours, which is removed with all that is in it when its host is retired: "home PATH"
# if it is a home or above one, "stranger NAME" if something of another name is in it: no trial's, and none that disks have.
strangers() {
    case $HOME/ in
        "${1%/}"/*) echo "home $HOME" && return ;;
    esac
    ls -A "$1" 2>/dev/null | grep -vxE 'cache|envs|federation|jobs|logs|lost[+]found|pythons|runs|tmp|[.]rekindle-.*' | sed -n '1s/^/stranger /p'
}

why_not() { # why no folder can be made in $1, in the system's words, without the program's
    place=$1
    case $2/ in "$HOME"/*) [ -e "$HOME" ] || { echo "the home folder $HOME does not exist" && return; } ;; esac
    [ ! -L "$place" ] || [ -e "$place" ] || { echo "it leads to $(readlink "$place"), which is not there" && return; }
    said=$(mkdir "$place/.rekindle-$nonce-$name" 2>&1) || echo "${said##*: }"
    rmdir "$place/.rekindle-$nonce-$name" 2>/dev/null
}

usable() { # whether $1 is or could be made a folder that this user writes to, and no other ($2: and nothing else is in it)
    place=$(nearest "$1")
    printf '%s\n' "$place"
    [ -d "$place" ] && [ -w "$place" ] && [ -x "$place" ] || { printf 'why %s\n' "$(why_not "$place" "$1")" && return 1; }
    found=$(others "$1" "${2-}")
    [ -n "$found" ] || [ -z "${2-}" ] || found=$(strangers "$1")
    [ -z "$found" ] || { printf '%s\n' "$found" && return 2; }
}

os() {
    cat /etc/os-release 2>/dev/null || cat /usr/lib/os-release
}

cpu() {
    model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
    [ -n "$model" ] || model=$(lscpu | sed -n 's/^Model name: *//p' | head -n 1)
    printf '%s\n' "$model"
}

# Works in any Python 3. In a virtual environment it goes on as the interpreter that made it.
python_says='
import json, os, sys
try:
    from importlib import metadata
except ImportError:
    metadata = None
def version(*names):
    for name in names if metadata else ():
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
def lacks(name):
    try:
        __import__(name)
    except ImportError:
        return True
if sys.implementation.name == "cpython":
    venv = sys.prefix != sys.base_prefix
    lacking = [name for name in ("bz2", "ctypes", "lzma", "sqlite3", "ssl", "zlib") if lacks(name)]
    unfit = {"lacks": lacking} if lacking else {}
    print(json.dumps(dict(unfit, **{
        "path": sys.prefix + "/bin/python3" if venv else os.path.realpath(sys.executable),
        "version": "%d.%d.%d" % sys.version_info[:3],
        "venv": venv,
        "torch": version("torch"),
        "torchvision": version("torchvision"),
        "tensorflow": version("tensorflow", "tensorflow-cpu"),
        "lightning": version("lightning"),
    })), flush=True)
    base = "%s/bin/python%d.%d" % ((sys.base_prefix,) + sys.version_info[:2])
    if venv and os.path.exists(base):
        os.execv(base, [base, "-I", "-B", "-c", sys.argv[1], sys.argv[1]])
'

pythons() { # one line of JSON from each interpreter; a shim of pyenv, asdf or mise is a way to those beside it
    set -- /usr/bin/python3 /usr/local/bin/python3 "$HOME"/.pyenv/versions/*/bin/python3 \
        "$HOME"/.local/share/uv/python/*/bin/python3 /opt/*/.venv/bin/python3 /opt/*/bin/python3 \
        "$HOME"/*conda*/bin/python3 "$HOME"/*forge*/bin/python3 "${CONDA_PREFIX:-/usr}"/bin/python3 \
        "$root"/pythons/*/bin/python3
    for minor in 9 10 11 12 13 14; do
        set -- "$@" "/usr/bin/python3.$minor" "/usr/local/bin/python3.$minor" \
            "$(command -v "python3.$minor")"
    done
    started=:
    for python in "$(command -v python3)" "$@"; do
        case $python in
            */shims/*) set -- "${python%/shims/*}"/versions/*/bin/python3 "${python%/shims/*}"/installs/python/*/bin/python3 ;;
            *) set -- "$python" ;;
        esac
        for python; do
            case $started in *":$python:"*) continue ;; esac
            [ -x "$python" ] || continue
            started=$started$python:
            "$python" -I -B -c "$python_says" "$python_says" 2>/dev/null &
        done
    done
    wait
}

# NVIDIA (0x10de) display controllers (class 0x03...). In a container those of the whole machine are on the
# bus, but only its own have device files, or its group of processes may open no others; other drivers than NVIDIA's and
# nouveau hold those that are lent to a virtual machine.
pci() {
    [ -d /sys/bus/pci/devices ] || return 1
    for device in /sys/bus/pci/devices/*; do
        read -r vendor <"$device/vendor" && read -r class <"$device/class" || continue
        case $vendor/$class in
            0x10de/0x03*) ;;
            *) continue ;;
        esac
        address=${device##*/}
        driver=$(readlink "$device/driver")
        case ${driver##*/} in
            nvidia)
                minor=$(sed -n 's/^Device Minor:[^0-9]*//p' "/proc/driver/nvidia/gpus/$address/information")
                [ -c "/dev/nvidia$minor" ] || continue
                case $({ true <"/dev/nvidia$minor"; } 2>&1) in *'not permitted'*) continue ;; esac
                ;;
            '' | nouveau) ;;
            *) continue ;;
        esac
        read -r model <"$device/device"
        printf '%s %s %s\n' "$address" "${model#0x}" "${driver##*/}"
    done 2>/dev/null
}

xids() { # how long the machine is up, and the driver's errors in the kernel's log, where this user may read it
    cat /proc/uptime
    dmesg 2>/dev/null | grep 'NVRM: Xid' | tail -n 1000
}

stuck() { # whether no nvidia-smi waits in the driver for minutes, which no signal ends: its process and its age
    ps -eo pid=,stat=,etimes=,comm= 2>/dev/null |
        awk '$2 ~ /^D/ && $3 > 60 && $4 == "nvidia-smi" { print $1, $3; found = 1 } END { exit found }'
}

engine() { # where a container engine is, and what it reports; Podman's info would make folders
    command -v "$1" && timeout 15 "$@"
}

containers() { # what gives containers GPUs, and this user's subordinate ids
    command -v nvidia-container-runtime-hook || command -v nvidia-ctk
    grep -l 'GPU-[0-9a-f]*-' /etc/cdi/*.yaml /etc/cdi/*.json /var/run/cdi/*.yaml /var/run/cdi/*.json 2>/dev/null
    [ "$(id -u)" = 0 ] || grep -qE "^($(id -un)|$(id -u)):" /etc/subuid 2>/dev/null ||
        getsubids "$(id -un)" >/dev/null 2>&1 || echo 'no subuids'
}

glibc() {
    getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>/dev/null | sed -n '1s/.* /glibc /p' | grep .
}

x86_64_v2() { # which of the instructions of x86-64-v2 the processor lacks, for which packages are built
    [ "$(uname -m)" = x86_64 ] || return 0
    flags=$(sed -n 's/^flags[^:]*://p' /proc/cpuinfo | head -n 1)
    lacks=
    for flag in cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3; do
        case "$flags " in ' ' | *" $flag "*) ;; *) lacks="$lacks $flag" ;; esac
    done
    [ -z "$lacks" ] || { echo "${lacks# }" && return 6; }
}

ends_with_login() { # whether the login manager ends what this user leaves running
    [ "$(id -u)" != 0 ] && grep -q 'session-.*scope' /proc/self/cgroup || return 0
    kills=$(cat /etc/systemd/logind.conf /etc/systemd/logind.conf.d/*.conf | sed -n 's/^KillUserProcesses *= *//p' | tail -n 1)
    case $kills in
        yes | true | 1 | on) [ -e "/var/lib/systemd/linger/$(id -un)" ] || { echo KillUserProcesses && return 6; } ;;
    esac
} 2>/dev/null

running() { # whether a run of ours holds its lock
    for lock in "$root"/runs/*/driver.lock; do
        [ ! -e "$lock" ] || flock -n "$lock" true || { printf '%s\n' "$lock" && return 6; }
    done
}

masked() { # files, or what comes in, as masked() of environments/indexes.py leaves them
    blank='[[:space:]]' plain='[^[:space:]/:=@]' password='([^[:space:]@/0-9][^@]*|[0-9]+[^[:space:]@/0-9][^@]*)'
    sed -E -e 's#://[^[:space:]]*@#://****@#g' -e "s#$plain+:[^[:space:]/@][^[:space:]]*@#****@#g" \
        -e "s#(://)?([*]{4}@[^[:space:]/:@]*|$plain+:$password)$blank[^@:/]*@#\1****@#g" \
        -e 's#(://[^[:space:]?]*[?])[^[:space:]]+#\1****#g' \
        -e 's#(://[^[:space:]/]+/)[^[:space:]?]*/([^[:space:]/?])#\1****/\2#g' -- "$@"
}

pip_variables() {
    env | grep ^PIP_ | masked
}

gpu_query=index,name,uuid,pci.bus_id,driver_version,compute_cap,memory.total,memory.used,temperature.gpu
gpu_query=$gpu_query,ecc.mode.current,ecc.errors.uncorrected.volatile.total,ecc.errors.corrected.volatile.total
gpu_query=$gpu_query,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max
gpu_query=$gpu_query,mig.mode.current,persistence_mode

query() { # a driver up to 470 knows no compute_cap, and one field that it does not know is an error (2) for all
    nvidia-smi --query-gpu="$gpu_query" --format=csv
    status=$?
    [ $status = 2 ] || return $status
    nvidia-smi --query-gpu="$(printf %s "$gpu_query" | sed 's/,compute_cap//; s/,mig.mode.current//')" --format=csv
}

probe() { # NAME COMMAND...
    name=$1
    shift
    case $wanted in
        '' | *" $name "*) names="$names $name" ;;
        *) return ;;
    esac
    (
        "$@"
        echo $? >"$dir/$name.status"
    ) >"$dir/$name.out" 2>"$dir/$name.err" </dev/null &
    echo $! >"$dir/$name.pid"
}

family() { # process $1 and all that descend from it, parents first
    cat /proc/[0-9]*/status 2>/dev/null | awk -v top="$1" '
        $1 == "Pid:" { pid = $2 }
        $1 == "PPid:" { children[$2] = children[$2] " " pid }
        function show(one,  list, i, n) {
            print one
            n = split(children[one], list, " ")
            for (i = 1; i <= n; i++) show(list[i])
        }
        END { show(top) }'
}

unfinished() {
    for name in $names; do
        [ -s "$dir/$name.status" ] || printf '%s\n' "$name"
    done
}

abandon() { # kills what still runs
    for name in $(unfinished); do
        # shellcheck disable=SC2046  # one word a process
        kill -9 $(family "$(cat "$dir/$name.pid")") 2>/dev/null
    done
}

roomy() { # whether $1 has room for all answers: 0.5 MB and three files a probe
    for number in 0 1 2 3 4 5 6 7 8 9; do
        mkdir "$1/$number" || return 1
        for file in 0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j; do
            true >"$1/$number/$file" || return 1
        done
    done
    head -c 2097152 /dev/zero >"$1/test" || return 1
    rm -rf "$1"/*
}

now() { # hundredths of a second since boot
    read -r uptime _ </proc/uptime
    printf '%s\n' "${uptime%.*}${uptime#*.}"
}

main() {
    nonce=$1 limit=${4:-20} names=
    : "${HOME:=$(getent passwd "$(id -u)" | cut -d: -f6)}"
    root=$(in_home "$2") tmpdir=$(in_home "$3") wanted=
    [ $# -lt 5 ] || { shift 4 && wanted=" $* "; }

    for place in /dev/shm "${TMPDIR:-/tmp}" /tmp "$HOME"; do
        dir=$place/rekindle-$nonce
        mkdir "$dir" 2>/dev/null || continue
        roomy "$dir" 2>/dev/null && break
        rm -rf "$dir"
        dir=
    done
    if [ ! -d "$dir" ]; then
        echo "None of /dev/shm, TMPDIR, /tmp and $HOME can be written. Fix: free space in one of them." >&2
        exit 1
    fi
    trap 'rm -rf "$dir"' EXIT
    trap 'abandon; exit 1' HUP INT PIPE TERM

    began=$(now)
    probe nvidia-smi nvidia-smi -q -x
    probe nvidia-query query
    probe nvidia-list nvidia-smi -L # MIG instances
    probe nvidia-topo nvidia-smi topo -m
    probe nvidia-nvlink nvidia-smi nvlink -s
    probe xids xids
    probe stuck stuck
    probe pythons pythons
    probe os os
    probe architecture uname -m
    probe kernel uname -r
    probe boot cat /proc/sys/kernel/random/boot_id
    probe glibc glibc
    probe cores cores
    probe cpu cpu
    probe memory memory
    probe clock date +%s
    probe user id -un
    probe uid id -u
    probe home printf '%s\n' "$HOME"
    probe path-tmpdir printf '%s\n' "$tmpdir"
    probe disk-system disk /
    probe disk-home disk "$HOME"
    probe disk-root disk "$root"
    probe disk-tmp disk /tmp
    probe disk-tmpdir disk "$tmpdir"
    probe disk-shm space /dev/shm
    probe root usable "$root" alone
    probe tmpdir usable "$tmpdir"
    probe place identity "$root"
    probe files-root trial files "$root"
    probe files-tmpdir trial files "$tmpdir"
    probe start-root trial start "$root"
    probe start-tmpdir trial start "$tmpdir"
    probe room-root trial room "$root"
    probe limits limits
    probe need-files tried "$need_says" files
    probe need-threads tried "$need_says" threads
    probe need-locked tried "$need_says" locked
    probe need-loopback tried "$need_says" loopback
    probe need-semaphore tried "$need_says" semaphore
    probe need-tmp tried "$need_says" tmp
    probe need-name tried "$need_says" name "$tmpdir/rekindle-$(id -un)"
    probe need-instructions x86_64_v2
    probe need-linger ends_with_login
    probe interpreter interpreter
    probe astray astray
    probe running running
    probe cuda cuda
    probe mark test -e "${REKINDLE_MARK:-/}"
    probe node printf '%s\n' "${SLURMD_NODENAME-}"
    probe driver-sys cat /sys/module/nvidia/version
    probe driver-proc cat /proc/driver/nvidia/version
    probe pci pci
    probe docker engine docker info --format 'version={{.ServerVersion}} runtimes={{range $name, $_ := .Runtimes}}{{$name}} {{end}}'
    probe podman engine podman --version
    probe apptainer engine apptainer --version
    probe containers containers
    probe pip-env pip_variables
    probe pip-xdg masked /etc/xdg/pip/pip.conf
    probe pip-etc masked /etc/pip.conf
    probe pip-legacy masked "$HOME/.pip/pip.conf"
    probe pip-user masked "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf"
    probe pip-file masked "${PIP_CONFIG_FILE:-/dev/null}"

    while [ -n "$(unfinished)" ] && [ $(($(now) - began)) -lt $((limit * 100)) ]; do
        sleep 0.1 2>/dev/null || sleep 1
    done
    late=" $(unfinished | tr '\n' ' ')"
    abandon

    echo # the shell may have printed something of its own, without an end of its line
    printf '@@%s limit 0\n%s\n' "$nonce" "$limit"
    for name in $names; do
        case $late in
            *" $name "*) status=timeout ;;
            *) read -r status <"$dir/$name.status" ;;
        esac
        printf '@@%s %s %s\n' "$nonce" "$name" "$status"
        cat "$dir/$name.out" "$dir/$name.err"
        echo
    done
    printf '@@%s end 0\n' "$nonce"
}

main "$@" </dev/null
