import type { BeneficiaryType } from "../../catalogue/payment-detail-fields.ts";
import type { Session } from "../../platform/db/database.ts";
import type { KycStatus } from "../../users/model.ts";
import type { UserKey } from "../../users/store.ts";
import { DECIDE_KYC } from "./proposed-decision.ts";

/** A row of the queue, without personal data. */
type QueueRow = {
  account_id: string;
  account_name: string;
  user_id: string;
  beneficiary_type: BeneficiaryType;
  updated_at: Date;
  /** A first member has decided; a second one must confirm. */
  is_proposed: boolean;
};

/** Where a page of the queue ended. */
export type QueuePlace = { updated_at: Date; user_id: string };

/** Users in this state whom this account's members may review, longest waiting first. */
export function listReviews(
  session: Session,
  reviewer: { account_id: string; is_operator: boolean },
  status: KycStatus,
  after: QueuePlace | null,
  limit: number,
): Promise<QueueRow[]> {
  return session.query<QueueRow>(
    `select users.account_id, accounts.name as account_name, users.id as user_id,
       users.beneficiary_type, users.updated_at,
       (proposals.id is not null) as is_proposed
     from accounts
     join users on users.account_id = accounts.id
     left join proposals on proposals.account_id = users.account_id
       and proposals.record_id = users.id and proposals.kind = $7
       and proposals.status = 'pending' and proposals.created_at >= users.updated_at
     where ($2 or (accounts.id = $1 and accounts.kyc_review_by_account))
       and users.kyc_status = $3 and users.erased_at is null
       and ($5::timestamptz is null or (users.updated_at, users.id) > ($5, $6::uuid))
     order by users.updated_at, users.id limit $4`,
    [
      reviewer.account_id,
      reviewer.is_operator,
      status,
      limit,
      after?.updated_at ?? null,
      after?.user_id ?? null,
      DECIDE_KYC,
    ],
  );
}

/** The newest proposal on a user, whatever became of it. */
export async function findLastProposal(
  session: Session,
  { account_id, user_id }: UserKey,
): Promise<{ summary: string; status: string; outcome: string | null } | undefined> {
  const [row] = await session.query<{ summary: string; status: string; outcome: string | null }>(
    `select summary, status, outcome from proposals
     where account_id = $1 and record_id = $2 and kind = $3 order by id desc limit 1`,
    [account_id, user_id, DECIDE_KYC],
  );
  return row;
}
