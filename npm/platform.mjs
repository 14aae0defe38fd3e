// Makes the npm packages: the one that everybody installs, and for each platform one with the program.
//
// usage: node npm/platform.mjs OUT [PLATFORM=PROGRAM]...
//
// Writes OUT/tcompact, which names all platforms of the table, and OUT/PLATFORM for each given program. The version and
// the licence are those of Cargo.toml. To publish: the platforms first.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The targets of the compiler by the name of their package. */
export const PLATFORMS = {
  "linux-x64-gnu": "x86_64-unknown-linux-gnu",
  "linux-x64-musl": "x86_64-unknown-linux-musl",
  "linux-arm64-gnu": "aarch64-unknown-linux-gnu",
  "linux-arm64-musl": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
  "win32-x64": "x86_64-pc-windows-msvc",
};
const LIBRARIES = { gnu: "glibc", musl: "musl" };

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(here);
const cargo = fs.readFileSync(path.join(root, "Cargo.toml"), "utf8");
const field = (name) => new RegExp(`^${name} = "(.*)"$`, "m").exec(cargo.split("\n[dependencies]")[0])?.[1];
const common = { version: field("version"), license: field("license"), repository: field("repository") };

function write(folder, manifest) {
  fs.mkdirSync(folder, { recursive: true });
  const files = [...manifest.files, "LICENSE-*"];
  fs.writeFileSync(path.join(folder, "package.json"), `${JSON.stringify({ ...manifest, files }, null, 2)}\n`);
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) fs.copyFileSync(path.join(root, name), path.join(folder, name));
}

function writeMain(folder) {
  const manifest = JSON.parse(fs.readFileSync(path.join(here, "package.json"), "utf8"));
  const names = Object.keys(PLATFORMS).map((platform) => [`@tcompact/${platform}`, common.version]);
  // What only the repository has is not published.
  write(folder, { ...manifest, ...common, scripts: undefined, optionalDependencies: Object.fromEntries(names) });
  for (const name of ["README.md", ...manifest.files]) {
    fs.cpSync(path.join(here, name), path.join(folder, name), { recursive: true });
  }
}

function writePlatform(folder, platform, program) {
  const [os, cpu, libc] = platform.split("-");
  const file = os === "win32" ? "tcompact.exe" : "tcompact";
  write(folder, {
    name: `@tcompact/${platform}`,
    description: `The program of the package tcompact for ${PLATFORMS[platform]}`,
    ...common,
    os: [os],
    cpu: [cpu],
    libc: libc && [LIBRARIES[libc]],
    files: [file],
    preferUnplugged: true,
    publishConfig: { access: "public" },
  });
  fs.copyFileSync(program, path.join(folder, file));
  fs.chmodSync(path.join(folder, file), 0o755);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [out, ...programs] = process.argv.slice(2);
  const given = programs.map((one) => one.split(/=(.*)/s));
  const wrong = given.find(([platform, program]) => !(platform in PLATFORMS) || !program);
  if (!out || wrong) {
    console.error(
      `usage: node npm/platform.mjs OUT [PLATFORM=PROGRAM]...\nplatforms: ${Object.keys(PLATFORMS).join(", ")}`,
    );
    process.exit(2);
  }
  writeMain(path.join(out, "tcompact"));
  for (const [platform, program] of given) writePlatform(path.join(out, platform), platform, program);
}
