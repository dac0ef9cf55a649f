# labels: repeats starts-first
# Layouts of ranks, any two values of which are in a row together: data, tensor-parallel and pipeline ranks, parallel.sequence,
# ZeRO, recompute, model, optimizer, precision, samples of a microbatch. long_layouts.sh has the whole product.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh

cat >"$work/rows" <<'ROWS'
1 2 1 false 0 block bert adamw bf16 1
2 1 2 false 2 none lora adafactor f32 4
3 2 1 true 3 none t5 adamw_rms bf16 4
2 4 1 true 1 block gpt adafactor f32 1
1 1 4 false 0 block gpt adamw_rms f32 4
3 1 2 false 1 block t5 adamw f32 1
1 4 2 true 0 none lora adamw bf16 4
2 1 4 false 3 none bert adafactor bf16 1
2 2 1 true 2 block lora adamw_rms f32 1
2 2 2 true 1 none bert adamw_rms f32 4
3 2 1 false 2 none gpt adafactor bf16 1
2 1 2 false 3 block gpt adamw f32 4
1 2 4 true 0 block t5 adafactor f32 4
2 4 1 false 2 block t5 adamw_rms f32 1
2 1 4 false 1 none lora adamw bf16 4
3 1 1 false 2 block bert adamw bf16 4
3 1 1 false 0 none lora adamw_rms bf16 1
2 4 1 false 0 block bert adamw_rms f32 1
2 4 1 false 3 block lora adamw_rms f32 4
2 1 4 false 2 none t5 adamw bf16 4
ROWS

# Two values without a row, of those that go together: ZeRO needs data-parallel ranks, parallel.sequence tensor-parallel
# ones, and there are 2 to 8 ranks.
awk 'BEGIN {
         split("1 2 3|1 2 4|1 2 4|false true|0 1 2 3|none block|t5 gpt bert lora|adamw adafactor adamw_rms|f32 bf16|1 4", values, "|")
     }
     { for (i = 1; i <= 10; i++) for (j = i + 1; j <= 10; j++) seen[i, $i, j, $j] = 1 }
     function clash(i, a, j, b) { # j > i
         return (i == 1 && a == 1 && j == 5 && b > 0) || (i == 2 && a == 1 && j == 4 && b == "true") || (j <= 3 && a * b > 8)
     }
     END {
         for (i = 1; i <= 10; i++)
             for (j = i + 1; j <= 10; j++) {
                 n = split(values[i], one, " ")
                 m = split(values[j], two, " ")
                 for (x = 1; x <= n; x++)
                     for (y = 1; y <= m; y++)
                         if (!((i, one[x], j, two[y]) in seen) && !clash(i, one[x], j, two[y]))
                             print "no row has " one[x] " in column " i " and " two[y] " in column " j
             }
     }' "$work/rows" >"$work/missing"
[ ! -s "$work/missing" ] || fail "$(cat "$work/missing")"

while read -r row; do
    # shellcheck disable=SC2086
    product_row $row
done <"$work/rows"
