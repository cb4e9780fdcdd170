// Allows one installation at a time in this clone. Plain JavaScript for Node >= 20 without
// packages.
import { mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BuildError, readText, root } from "./stale-build.mjs";

// Outside node_modules, which npm ci deletes.
const lockDirectory = join(root, ".bootstrap-lock");
const WAIT_LIMIT_MS = 10 * 60_000;

/**
 * Writes a claim first and looks for other claims afterwards: of two processes that start at once
 * at least one sees the other, withdraws and tries again after a random pause. The owner's claim
 * stays, so the others wait. Claims are named after their process, so that those of ended processes
 * can be removed safely.
 */
export async function lockInstallation() {
  const own = claimName(process.pid);
  const claim = join(lockDirectory, own);
  const release = () => {
    rmSync(claim, { force: true });
    try {
      rmdirSync(lockDirectory);
    } catch {
      // Others have claims in it, or it is already removed.
    }
  };
  const deadline = Date.now() + WAIT_LIMIT_MS;
  let isSaid = false;
  while (Date.now() < deadline) {
    if (layClaim(claim)) {
      const holder = readdirSync(lockDirectory).find((name) => name !== own && isLive(name));
      if (holder === undefined) return release;
      release();
      if (!isSaid)
        console.error(`waiting for another installation (process ${holder.split("-")[0]})`);
      isSaid = true;
    }
    await sleep(100 + Math.random() * 400);
  }
  throw new BuildError(
    `another installation has held ${lockDirectory} for ${WAIT_LIMIT_MS / 60_000} minutes; ` +
      "end it, or remove that directory.",
  );
}

function layClaim(claim) {
  try {
    mkdirSync(lockDirectory, { recursive: true });
    writeFileSync(claim, "");
    return true;
  } catch (error) {
    // Another process removed the directory between our two steps.
    if (error.code === "ENOENT") return false;
    throw new BuildError(
      `the dependencies are not installed and ${root} is not writable (${error.code}); run ` +
        "npm run bootstrap as the user who owns it.",
    );
  }
}

function claimName(pid) {
  return `${pid}-${startOf(pid)}`;
}

function isLive(name) {
  const [pid, start] = name.split("-");
  const live = exists(Number(pid)) && startOf(pid) === start;
  if (!live) rmSync(join(lockDirectory, name), { force: true });
  return live;
}

function exists(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/**
 * When a process started, in ticks since boot: its pid may belong to another process by now, above
 * all in a container. "0" where the system does not provide it.
 */
function startOf(pid) {
  const text = readText(`/proc/${pid}/stat`);
  if (text === null) return "0";
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? "ended" : fields[19];
}

/** Keeps the lock for a child too: if this process is killed, npm still runs to its end. */
export function holdLockFor(pid) {
  const claim = join(lockDirectory, claimName(pid));
  layClaim(claim);
  return () => rmSync(claim, { force: true });
}
