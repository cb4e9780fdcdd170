import { Shares } from "../../platform/shares.ts";

/** Waiting render jobs: accounts take turns, so that one with many jobs delays only itself. */
type PdfQueue<Job> = {
  /** False when the queue is full. */
  add(job: Job): boolean;
  take(): Job | undefined;
  /** False when it is not, or no longer, waiting. */
  remove(job: Job): boolean;
  takeAll(): Job[];
};

export function createPdfQueue<Job extends { account_id: string }>(
  waiting_max: number,
): PdfQueue<Job> {
  const waiting: Job[] = [];
  const shares = new Shares(waiting_max);
  /** Accounts in the order of their last turn. */
  const served: string[] = [];

  const remove = (job: Job): boolean => {
    const at = waiting.indexOf(job);
    if (at === -1) return false;
    waiting.splice(at, 1);
    shares.leave(job.account_id);
    return true;
  };
  const noteTurn = (account_id: string) => {
    const at = served.indexOf(account_id);
    if (at !== -1) served.splice(at, 1);
    served.push(account_id);
    // The forgotten account had the oldest turn, so it would be next in any case.
    if (served.length > waiting_max) served.shift();
  };

  return {
    add: (job) => {
      const is_taken = shares.take(job.account_id);
      if (is_taken) waiting.push(job);
      return is_taken;
    },
    take: () => {
      // An account that never had a turn is at -1, before all others.
      const turnOf = (job: Job) => served.indexOf(job.account_id);
      const [first, ...others] = waiting;
      if (!first) return undefined;
      const next = others.reduce((best, job) => (turnOf(job) < turnOf(best) ? job : best), first);
      remove(next);
      noteTurn(next.account_id);
      return next;
    },
    remove,
    takeAll: () => {
      shares.clear();
      return waiting.splice(0);
    },
  };
}
