"use strict";
// Makes temporary folders, also where `TMPDIR` names one that cannot be used.
const fs = require("node:fs/promises");
const os = require("node:os");
const path = require("node:path");
const { TcompactError } = require("./program.cjs");

// Where the folder that the environment names cannot be used.
const USUAL = process.platform === "win32" ? [] : ["/tmp", "/var/tmp"];
// In bytes: the longest path of a folder in which a socket has a name that every system takes, and of one in which files
// of the program have.
const [FOR_SOCKETS, FOR_FILES] = [process.platform === "win32" ? 3500 : 80, 3500];

/** Returns the path of a new folder of this user in which files can be made, and with `socket` a socket, too. */
async function makeFolder({ socket }) {
  const longest = socket ? FOR_SOCKETS : FOR_FILES;
  let why;
  for (const parent of [os.tmpdir(), ...USUAL]) {
    const begin = path.resolve(parent, "tcompact-");
    if (Buffer.byteLength(begin) + 6 > longest) {
      why ??= "its path is too long";
      continue;
    }
    try {
      return await fs.mkdtemp(begin);
    } catch (error) {
      why ??= error.code;
    }
  }
  throw new TcompactError(
    `no temporary folder can be made: ${why}; set TMPDIR to one with a short path that you can write to`,
  );
}

module.exports = { makeFolder };
