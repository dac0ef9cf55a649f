# Prints the commands that pages of Markdown show and the files they give, one per line, tab-separated; the byte 1 stands
# for a newline inside COMMAND or TEXT:
#   shown FILE:LINE STATUS COMMAND  a command of a ```sh block, or one after "$ " in another block, and the exit status
#                                   that the page shows for it (1 if its output begins with "loam VERB: ")
#                                   or one in the last column of a table that is headed "command"
#   given FILE:LINE NAME TEXT       a file that the page shows by "$ cat NAME"
function one_line(text) {
    gsub(/\n/, "\001", text)
    return text
}
function end_command() {
    if (command != "")
        print "shown\t" at "\t" status "\t" one_line(command)
    command = heredoc = ""
    status = 0
    open = 0
}
function end_file() {
    if (name != "")
        print "given\t" at "\t" name "\t" one_line(body)
    name = body = ""
}
# Whether a command is unfinished: an odd number of single quotes, a backslash at its end, a loop without its done.
function unfinished(text,   quotes, loops) {
    gsub(/"[^"\n]*"/, "", text)
    quotes = gsub(/'/, "'", text)
    loops = gsub(/(^|\n *)for /, "&", text) - gsub(/(^|\n *)done/, "&", text)
    return quotes % 2 || loops > 0 || text ~ /\\$/
}
function take(line) {
    spoke = 0
    command = command == "" ? line : command "\n" line
    if (heredoc == "" && match(line, /<<'?[A-Z]+'?/)) {
        heredoc = substr(line, RSTART + 2, RLENGTH - 2)
        gsub(/'/, "", heredoc)
    }
    open = heredoc != "" ? line != heredoc : unfinished(command)
}
# The commands of a row: what stands in backquotes in its last cell.
function take_row(row,   cells, n, codes, i) {
    n = split(row, cells, "|")
    n = split(cells[n - 1], codes, "`")
    for (i = 2; i <= n; i += 2)
        print "shown\t" FILENAME ":" FNR "\t0\t" codes[i]
}
FNR == 1 { block = "" }
/^ *```/ {
    if (block != "") {
        end_command()
        end_file()
        block = ""
    } else {
        block = $0
        sub(/^ *```/, "", block)
        if (block == "")
            block = "plain"
    }
    next
}
block == "" {
    if (/^\|/ && table)
        take_row($0)
    else
        table = /\| command \|$/
    next
}
block == "sh" {
    if (open) {
        take($0)
        next
    }
    end_command()
    if (!/^ *(#.*)?$/) {
        at = FILENAME ":" FNR
        take($0)
    }
}
block == "plain" {
    if (open) {
        take($0)
    } else if (/^\$ /) {
        end_command()
        end_file()
        at = FILENAME ":" FNR
        if (/^\$ cat [^|<> ]+$/)
            name = $3
        else
            take(substr($0, 3))
    } else if (name != "") {
        body = body $0 "\n"
    } else if (command != "" && !spoke) {
        spoke = 1
        status = /^loam [a-z]+: / ? 1 : 0
    }
}
