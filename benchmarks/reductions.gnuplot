# Draws the table of the benchmark `reductions`:
#
#     gnuplot -c benchmarks/reductions.gnuplot table.csv picture.svg 268435456
#
# the bandwidth of every kernel that adds up so many ints and floats; lines for CUB and for a copy on the device.
if (ARGC != 3) { print "give the table (CSV), the picture (SVG) and how many elements"; exit status 2 }
table = ARG1
of(type, kinds) = sprintf("< awk -F, -v OFS=, '$1 == %s && $2 == \"%s\" && $4 ~ /^(%s)$/ { if ($12 > 0) $3 = $3 \" (WRONG)\"; print }' '%s'", \
                          ARG3, type, kinds, table)

set datafile separator ","
stats of("int", "cub") using 8 name "CUB" nooutput
stats of("int", "copy") using 8 name "COPY" nooutput

set terminal svg size 1100,600 font "sans-serif,13" background "white"
set output ARG2
set title sprintf("Adding up %s numbers of 4 bytes: GB/s, each number counted once", ARG3)
set key outside top center horizontal
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set grid ytics lc rgb "#dddddd"
set yrange [0:*]
set ytics nomirror
set ylabel "GB/s"
set xtics rotate by -45 scale 0 noenhanced
set border 3
set bmargin 11
set rmargin 16
plot of("int", "ladder|nested") using 8:xtic(3) title "int" lc rgb "#1f6f8b", \
     of("float", "ladder|nested") using 8 title "float" lc rgb "#e0a458", \
     CUB_max title "cub::DeviceReduce::Sum (int)" with lines lw 2 lc rgb "#333333", \
     COPY_max title "copy on the device (read and written)" with lines lw 2 dt 2 lc rgb "#999999"
