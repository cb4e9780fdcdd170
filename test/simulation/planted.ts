import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BUGS, type Bug, changesOf } from "./planted-bugs.ts";

const ROOT = join(import.meta.dirname, "../..");
const SEEDS_MAX = 500;

type Found = { seed: number; check: string; message: string; step: number };

/**
 * Shows that the simulation finds bugs: each is planted into a process of its own while its source
 * is read (`plant.ts`); no file is changed. False if one is not found within the seeds.
 */
export async function findPlanted(
  server_url: string,
  name: string | undefined,
  print: (text: string) => void,
): Promise<boolean> {
  const bugs = BUGS.filter((bug) => name === undefined || bug.name === name);
  for (const bug of bugs) assertPlantable(bug);
  print("| Planted bug | Seed | Found by | Seconds |\n|---|---|---|---|");
  let missed = 0;
  for (const bug of bugs) {
    const begun_ms = performance.now();
    const found = await findBug(server_url, bug);
    if (!found) missed += 1;
    const seconds = ((performance.now() - begun_ms) / 1000).toFixed(0);
    const where = found ? `${found.seed} | ${found.message.split("\n")[0]}` : "not found | ";
    print(`| ${bug.name} | ${where.slice(0, 160)} | ${seconds} |`);
  }
  print(`${bugs.length - missed} of ${bugs.length} planted bugs were found`);
  return missed === 0;
}

/** A text that is not there exactly once would plant nothing, or something else. */
function assertPlantable(bug: Bug): void {
  for (const { file, text } of changesOf(bug)) {
    const count = readFileSync(join(ROOT, file), "utf8").split(text).length - 1;
    if (count !== 1) throw new Error(`${bug.name}: the text stands ${count} times in ${file}`);
  }
}

function findBug(server_url: string, bug: Bug): Promise<Found | null> {
  const args = [
    ...["--import", join(import.meta.dirname, "plant.ts"), join(import.meta.dirname, "main.ts")],
    ...["--seeds", String(SEEDS_MAX), "--first", "--bank", bug.bank ?? "memory"],
  ];
  const env = { ...process.env, DATABASE_URL: server_url, PLANTED_BUG: bug.name };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on("close", () => {
      const line = output.split("\n").find((one) => one.startsWith("{"));
      if (line) resolve(JSON.parse(line));
      else if (output.includes("everything held")) resolve(null);
      else reject(new Error(`the simulation with "${bug.name}" did not run: ${output}`));
    });
  });
}
