import { LIST_TRANSFER_TASK } from "../balances/set-aside-store.ts";
import { reassessOfframps } from "../offramps/reassess-offramps.ts";
import { listWaitingIds } from "../offramps/store.ts";
import { partnerTask } from "../partners/partner-task.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { recordByRecord } from "../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import type { ScreenUsers } from "../users/clearance.ts";
import { REASSESS_USER_TASK } from "../users/task-kinds.ts";
import { deliverOnramps, type OnrampDeliveryDeps } from "./deliver-onramps.ts";
import { depositProposalTasks } from "./deposits/approved-settlements.ts";
import { type ListTransferDeps, listTransfers } from "./deposits/list-transfers.ts";
import { type DepositMoveDeps, moveDeposits } from "./deposits/move-deposits.ts";
import { type CreditDeps, recordCredits } from "./deposits/record-credits.ts";
import { expireOnramps } from "./expire-onramps.ts";
import { findOnramps, updateDeliveriesDue } from "./store.ts";
import {
  DELIVER_ONRAMP_TASK,
  EXPIRE_ONRAMP_TASK,
  MOVE_DEPOSIT_TASK,
  READ_CREDITS_TASK,
} from "./task-kinds.ts";

type OnrampTaskDeps = CreditDeps &
  DepositMoveDeps &
  OnrampDeliveryDeps &
  ListTransferDeps & { clock: Clock; index_key: Buffer; screenUsers: ScreenUsers };

/** The background work of onramps, each kind as sets of due tasks. */
export function onrampTasks(deps: OnrampTaskDeps): TaskHandler[] {
  const locked = new Map<string, number>();
  return [
    partnerTask(deps.database, READ_CREDITS_TASK, () => recordCredits(deps, deps.clock)),
    { kind: LIST_TRANSFER_TASK, set_max: 20, handle: (set) => listTransfers(deps, set) },
    { kind: MOVE_DEPOSIT_TASK, set_max: 20, handle: (set) => moveDeposits(deps, set, locked) },
    { kind: DELIVER_ONRAMP_TASK, set_max: 20, handle: (set) => screenAndDeliver(deps, set) },
    { kind: EXPIRE_ONRAMP_TASK, set_max: 200, handle: (set) => expireOnramps(deps, set) },
    reassessTask(deps),
    ...depositProposalTasks(deps),
  ];
}

/** Whoever paid is compared with the lists before the tokens leave, not within the hour. */
async function screenAndDeliver(deps: OnrampTaskDeps, set: TaskSet): Promise<void> {
  if (deps.is_screening) {
    const keys = set.tasks.map(({ account_id, record_id: id }) => ({ account_id, id }));
    await deps.screenUsers(await findOnramps(deps.database, keys));
  }
  await deliverOnramps(deps, set);
}

const WAITING_AT_ONCE = 1_000;
/** Of a user, in a second or two; what is left is looked at within the hour. */
const WAITING_MAX = 50_000;

/** A gate of these users may have opened: check what waits now, not within the hour. */
function reassessTask({ database }: OnrampTaskDeps): TaskHandler {
  return {
    kind: REASSESS_USER_TASK,
    set_max: 200,
    // Whoever changes each of a user's payment details causes as many tasks: once is enough.
    handle: (set) => recordByRecord(database, set, (tasks) => reassessUser(database, set, tasks)),
  };
}

/** In parts: a user may have any number of payouts that wait. */
async function reassessUser(database: Database, set: TaskSet, of_user: Task[]): Promise<void> {
  const { account_id, record_id: user_id } = of_user[0]!;
  const key = { account_id, user_id };
  let after_id = FIRST_ID;
  for (let count = 0; count < WAITING_MAX; count += WAITING_AT_ONCE) {
    const ids = await listWaitingIds(database, key, after_id, WAITING_AT_ONCE);
    await database.transaction(async (tx) => reassessOfframps(tx, account_id, ids, set.now));
    if (ids.length < WAITING_AT_ONCE) break;
    after_id = ids.at(-1)!;
  }
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx, of_user);
    updateDeliveriesDue(tx, key, set.now);
    set.finish(tx, tasks);
  });
}
