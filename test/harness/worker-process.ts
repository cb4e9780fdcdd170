// A worker in a separate process, to be killed or stopped during a task. It claims tasks of the
// kind "crash", reports that, and ends them only on a message; tasks of the kind "locked" are
// reported once it has locked them.
import { once } from "node:events";
import { openClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/db/database.ts";
import { createWorker } from "../../src/platform/tasks/worker.ts";
import { finishWithEffects, SILENT, writeEffects } from "./task-fixture.ts";

export type FromProcess = { started: number } | { ended: number } | { refused: string };

const [url, lease_ms] = process.argv.slice(2);
const by_account = process.env.SLIPROAD_BATCH_BY === "account";
const database = openDatabase({ url: url!, connections_max: 4, by_account });
const worker = createWorker({
  database,
  clock: await openClock(database),
  log: SILENT,
  lease_ms: Number(lease_ms),
  handlers: [
    {
      kind: "crash",
      set_max: 10,
      handle: async (set) => {
        send({ started: set.tasks.length });
        await once(process, "message");
        const tasks = await finishWithEffects(database, set, "process");
        send({ ended: tasks.length });
      },
    },
    {
      kind: "locked",
      set_max: 10,
      handle: async (set) => {
        const work = database.transaction(async (tx) => {
          const tasks = await set.lock(tx);
          send({ started: tasks.length });
          await once(process, "message");
          writeEffects(tx, tasks, "process");
          set.finish(tx, tasks);
        });
        await work.catch((error: Error) => send({ refused: error.constructor.name }));
      },
    },
  ],
});
worker.start();

function send(message: FromProcess): void {
  process.send!(message);
}
