import { formatDate } from "../../catalogue/dates.ts";
import { findPostalCountry } from "../../catalogue/postal.ts";
import {
  FIELDS,
  type Field,
  findChangedSince,
  findContradictions,
  recordValues,
} from "../fields.ts";
import { HAS_OWNERS, isOwnerField, ownersIn } from "../owners.ts";
import { labelOfDecision, needsComment, needsTwo, PAST_DECISIONS } from "./decisions.ts";
import { type LoadedReview, personOf } from "./load-review.ts";

/** A review as the dashboard's page shows it to this member. */
export function describeReview(review: LoadedReview, person_id: string) {
  const { account, user, application, files, void_summary, seen } = review;
  const { general, usd, eur } = user.kyc;
  return {
    account: { id: account.id, name: account.name },
    user: { id: user.id, beneficiary_type: user.beneficiary_type, email: user.identity.email },
    status: general.status,
    comment: general.moderation_comment,
    swift: { usd: usd.swift_status, eur: eur.swift_status },
    submitted_at: application?.submitted_at ?? null,
    fields: describeFields(review),
    owners: describeOwners(review),
    files: files.map(({ id, slot, type, size, uploaded_at }) => {
      return { id, slot, type, size, uploaded_at };
    }),
    are_files_deleted: application !== null && application.submitted === null,
    proposed: describeProposed(review, person_id),
    void_summary,
    past: review.past.map(({ at, actor, action, comment }) => {
      const by = review.names.get(personOf(actor)) ?? null;
      return { at, by, label: PAST_DECISIONS.get(action), comment };
    }),
    seen,
    decisions: possibleFor(review, person_id).map((name) => {
      return { name, label: labelOfDecision(name), needs_comment: needsComment(name) };
    }),
  };
}

function describeFields({ user, application, values }: LoadedReview) {
  const type = user.beneficiary_type;
  const submitted = application?.submitted ?? null;
  const now = recordValues(type, user.identity);
  // Once a user is approved, the submitted data is the record.
  const is_open = !["approved", "suspended"].includes(user.kyc.general.status);
  const contradicted = submitted ? findContradictions(type, submitted) : [];
  const since = submitted && is_open ? findChangedSince(type, user.identity, submitted) : [];
  // Owners are a list of their own; the account's record has none to compare with.
  const described = FIELDS[type].filter(({ name }) => name !== HAS_OWNERS && !isOwnerField(name));
  return described.map((field) => {
    const { name } = field;
    return {
      name,
      value: shownValue(field, values[name]),
      /** The person changed what the account had sent. */
      before: contradicted.includes(name) ? shownValue(field, submitted?.known[name]) : null,
      is_contradicted: contradicted.includes(name),
      /** The account changed it after the submission; approval keeps that. */
      since: since.includes(name) ? shownValue(field, now[name]) : null,
      is_changed_since: since.includes(name),
    };
  });
}

/** Null: there are none to ask for, or the application is older than the question. */
function describeOwners({ values }: LoadedReview) {
  const owners = ownersIn(values);
  return (
    owners?.map(({ first_name, last_name, date_of_birth, nationality, share }) => ({
      name: [first_name, last_name].filter(Boolean).join(" "),
      date_of_birth: date_of_birth && formatDate(date_of_birth),
      nationality: nationality && countryText(nationality),
      share,
    })) ?? null
  );
}

function shownValue({ kind }: Field, value: string | null | undefined): string | null {
  if (!value) return null;
  if (kind === "date") return formatDate(value);
  if (kind === "country") return countryText(value);
  return kind === "select" ? value.replaceAll("_", " ") : value;
}

function countryText(code: string): string {
  return `${findPostalCountry(code)?.name ?? code} (${code})`;
}

function hasVoted({ proposed }: LoadedReview, person_id: string): boolean {
  return (proposed?.proposal.votes ?? []).some(({ voter }) => voter.person_id === person_id);
}

/** The first of two reviewers can still stop the user alone. */
function possibleFor(review: LoadedReview, person_id: string) {
  const is_own = hasVoted(review, person_id);
  return is_own ? review.decisions.filter((name) => !needsTwo(name)) : review.decisions;
}

function describeProposed(review: LoadedReview, person_id: string) {
  const { proposed, names } = review;
  if (!proposed) return null;
  const { decision, comment, proposal } = proposed;
  return {
    decision,
    label: labelOfDecision(decision),
    comment,
    is_own: hasVoted(review, person_id),
    /** Null: of another account, or no member any more. */
    by: (proposal.proposed_by_person && names.get(proposal.proposed_by_person)) || null,
  };
}
