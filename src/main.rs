//! The program. All of its code is in the library.

fn main() -> std::process::ExitCode {
    tcompact::run_program()
}
