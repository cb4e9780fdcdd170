import { LIST_TRANSFER_TASK } from "../balances/set-aside-store.ts";
import { reassessOfframps } from "../offramps/reassess-offramps.ts";
import { listWaitingIds } from "../offramps/store.ts";
import { partnerTask } from "../partners/partner-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
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
  ListTransferDeps & { index_key: Buffer; screenUsers: ScreenUsers };

/** The background work of onramps, each kind as sets of due tasks. */
export function onrampTasks(deps: OnrampTaskDeps): TaskHandler[] {
  return [
    partnerTask(deps.database, READ_CREDITS_TASK, (now) => recordCredits(deps, now)),
    { kind: LIST_TRANSFER_TASK, set_max: 20, handle: (set) => listTransfers(deps, set) },
    { kind: MOVE_DEPOSIT_TASK, set_max: 20, handle: (set) => moveDeposits(deps, set) },
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

/** A gate of these users may have opened: check waiting onramps now, not within the hour. */
function reassessTask({ database }: OnrampTaskDeps): TaskHandler {
  return {
    kind: REASSESS_USER_TASK,
    set_max: 200,
    handle: (set) =>
      database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        // In a fixed order, since two sets may contain the same users.
        const users = tasks.toSorted((a, b) => Number(a.record_id > b.record_id) || -1);
        for (const { account_id, record_id } of users) {
          const key = { account_id, user_id: record_id };
          reassessOfframps(tx, account_id, await listWaitingIds(tx, key), set.now);
          updateDeliveriesDue(tx, key, set.now);
        }
        set.finish(tx, tasks);
      }),
  };
}
