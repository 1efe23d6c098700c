# Sourced by the scripts that install what the tests need: `apt_install PACKAGE…`, where we may.
# They run side by side, and apt refuses who comes second: so one waits for the other.
apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    local quick=(-qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
    local words=(install -y --no-install-recommends --no-remove "${quick[@]}" "$@")
    export DEBIAN_FRONTEND=noninteractive
    {
        flock 9
        # By what apt knows already, else after an update; an index that does not answer is not waited for.
        apt-get "${words[@]}" || { apt-get update "${quick[@]}" && apt-get "${words[@]}"; }
    } 9>"${TMPDIR:-/tmp}/jumok-apt.lock" >/dev/null 2>&1
}
