/** Waiting render jobs: accounts take turns, so that one with many jobs delays only itself. */
type PdfQueue<Job> = {
  /** False when the queue is full. */
  add(job: Job): boolean;
  take(): Job | undefined;
  /** False when it is not, or no longer, waiting. */
  remove(job: Job): boolean;
  takeAll(): Job[];
};

/** Each account may always queue this many jobs, as long as the queue is not full. */
const OWN_MIN = 4;

export function createPdfQueue<Job extends { account_id: string }>(
  waiting_max: number,
): PdfQueue<Job> {
  const waiting: Job[] = [];
  /** Accounts in the order of their last turn. */
  const served: string[] = [];

  /** An account may use half of what the others leave: one alone gets much, but never all. */
  const hasCapacity = (account_id: string): boolean => {
    if (waiting.length >= waiting_max) return false;
    const own = waiting.filter((job) => job.account_id === account_id).length;
    const left_by_others = waiting_max - (waiting.length - own);
    return own < Math.max(OWN_MIN, Math.floor(left_by_others / 2));
  };
  const remove = (job: Job): boolean => {
    const at = waiting.indexOf(job);
    if (at !== -1) waiting.splice(at, 1);
    return at !== -1;
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
      const has_capacity = hasCapacity(job.account_id);
      if (has_capacity) waiting.push(job);
      return has_capacity;
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
    takeAll: () => waiting.splice(0),
  };
}
