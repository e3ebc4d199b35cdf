# SPDX-License-Identifier: MIT
# A host program that uses children, pipes, signals and libraries opened at run time.
use strict;
use POSIX qw(:sys_wait_h _exit);
use Socket;
use DynaLoader;

$| = 1;
$SIG{USR1} = sub { print "usr1\n" };
kill 'USR1', $$;
for my $code (0 .. 5) {
    my $child = fork();
    if ($child == 0) { $code % 2 ? exit $code : _exit($code); }
    waitpid $child, 0;
    print $? >> 8, " ";
}
print "\n", `"$ENV{PROCESS_FACTS}" a`, system('exit 3') >> 8, "\n";
open my $from, '-|', 'sort', '-r', $0 or die;
print scalar(my @lines = <$from>), "\n";
close $from;
socketpair(my $here, my $there, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
syswrite $here, 'through';
sysread $there, my $got, 7;
print "$got\n";
for my $name ('libm.so.6', 'libcuda.so.1', '/nonexistent.so') {
    my $library = DynaLoader::dl_load_file($name, 0);
    print $name, $library ? ' open' : ' ' . DynaLoader::dl_error(), "\n";
    next unless $library;
    print DynaLoader::dl_find_symbol($library, 'cos') ? "cos\n" : "no cos\n";
    print DynaLoader::dl_find_symbol($library, 'cuInit') ? "cuInit\n" : DynaLoader::dl_error() . "\n";
}
print "perl done\n";
exec 'sh', '-c', 'echo last';
