# bash completion for dynpar-trace. What it offers is compared with --help by the test packages.man_page.
_dynpar_trace() {
    local word=${COMP_WORDS[COMP_CWORD]} command='' i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${COMP_WORDS[i]} in
            print | convert | compare) command=${COMP_WORDS[i]} && break ;;
        esac
    done
    local options='-h --help'
    case $command in
        '') options+=' --version print convert compare' ;;
        print) options+=' --tree --table' ;;
        compare) options+=' --threshold' ;;
    esac
    if [[ $word == -* || -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} != --threshold ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _dynpar_trace dynpar-trace
