import type { ScreeningLists } from "../partners/screening/port.ts";
import { HOUR_MS, SECOND_MS } from "../platform/durations.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { SCREEN_USER_TASK } from "../users/task-kinds.ts";
import { type ScreenDeps, screenUsers } from "./screen-users.ts";
import {
  countUsers,
  findState,
  listUsersAfter,
  lockState,
  type ScreeningState,
  upsertState,
} from "./store.ts";

/**
 * | State of `screening_state` | Next |
 * |---|---|
 * | another version than the lists loaded | activated: everybody is stale, from the first user on |
 * | `finished_at` null | the users after the cursor are screened, page by page |
 * | `finished_at` set | nothing for an hour, or until the lists change; then from the first again |
 */
export const RESCREEN_TASK = "rescreen-everybody";

export const RELOAD_EVERY_MS = 10 * SECOND_MS;
const REPEATED_AFTER_MS = HOUR_MS;
const USERS_PER_PAGE = 500;

const OFF: ScreeningState = {
  ...{ version: null, entries: 0, files: [], problem: null, activated_at: null },
  ...{ people_count: 0, done_count: 0, cursor_account_id: null, cursor_user_id: null },
  finished_at: null,
};

export function rescreenTask(deps: ScreenDeps): TaskHandler {
  const { database, screening } = deps;
  return recurringTask(database, RESCREEN_TASK, RELOAD_EVERY_MS, async (set) => {
    await screening.reload();
    await recordLists(deps, set.now);
    // Whatever is left when the lease has expired goes on with the next run.
    while (set.isHeld() && (await screenPage(deps, set.now))) {}
  });
}

/** Users whose wallets have changed. */
export function screenUserTask(deps: ScreenDeps): TaskHandler {
  const { database } = deps;
  return {
    kind: SCREEN_USER_TASK,
    set_max: 100,
    handle: async (set) => {
      const users = set.tasks.map(({ account_id, record_id }) => {
        return { account_id, user_id: record_id };
      });
      await screenUsers(deps, users);
      await database.transaction(async (tx) => set.finish(tx, await set.lock(tx)));
    },
  };
}

/** Makes the lists that are loaded the ones in use; from then on older verdicts are stale. */
export async function recordLists(
  { database, screening, log }: ScreenDeps,
  now: Date,
): Promise<void> {
  const [lists, problem] = [screening.lists(), screening.problem()];
  const seen = (await findState(database)) ?? OFF;
  if (seen.version === (lists?.version ?? null) && seen.problem === problem) return;
  await database.transaction(async (tx) => {
    const state = (await lockState(tx)) ?? OFF;
    const is_same = state.version === (lists?.version ?? null);
    const people_count = is_same ? state.people_count : await countUsers(tx);
    upsertState(tx, {
      ...(is_same ? state : activated(lists, people_count, now)),
      problem,
    });
  });
  if (!lists && seen.version !== null) {
    log.warn({}, "SLIPROAD_SCREENING_LISTS is not set any more: nobody is screened");
  }
  if (problem !== null && seen.problem !== problem) {
    log.warn({ problem, next: "sliproad screening status" }, "a screening list cannot be loaded");
  }
}

function activated(lists: ScreeningLists | null, people_count: number, now: Date): ScreeningState {
  if (!lists) return OFF;
  const { version, entries, files } = lists;
  return { ...OFF, version, entries, files, activated_at: now, people_count };
}

/** A process that ended between a change and its screening leaves a user who is not screened. */
function isFresh({ finished_at }: ScreeningState, now: Date): boolean {
  return finished_at !== null && now.getTime() - finished_at.getTime() < REPEATED_AFTER_MS;
}

/** Screens the next users; false: nobody is left. */
async function screenPage(deps: ScreenDeps, now: Date): Promise<boolean> {
  const { database, screening } = deps;
  const state = await findState(database);
  const version = screening.lists()?.version;
  if (!state || state.version !== version || isFresh(state, now)) return false;
  const is_again = state.finished_at !== null;
  const { cursor_account_id, cursor_user_id } = is_again ? OFF : state;
  const after = { account_id: cursor_account_id ?? FIRST_ID, user_id: cursor_user_id ?? FIRST_ID };
  const users = await listUsersAfter(database, after, USERS_PER_PAGE);
  await screenUsers(deps, users);
  const last = users.at(-1);
  await database.transaction(async (tx) => {
    const current = await lockState(tx);
    // The lists have changed meanwhile: it begins again.
    if (current?.version !== version) return;
    const finished_at = users.length < USERS_PER_PAGE ? now : null;
    upsertState(tx, {
      ...current!,
      people_count: is_again ? await countUsers(tx) : current!.people_count,
      done_count: (is_again ? 0 : current!.done_count) + users.length,
      cursor_account_id: last?.account_id ?? cursor_account_id,
      cursor_user_id: last?.user_id ?? cursor_user_id,
      finished_at,
    });
  });
  return users.length === USERS_PER_PAGE;
}
