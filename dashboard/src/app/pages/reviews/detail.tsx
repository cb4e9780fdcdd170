import { Alert, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef } from "react";
import { useLocation } from "wouter";
import { queries } from "../../api.ts";
import { BackLink } from "../../parts/back-link.tsx";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { RecordId } from "../../parts/record-id.tsx";
import { LOOK_EVERY_MS } from "../../parts/record-table.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { session } from "../../session.ts";
import { IdentityChip } from "../people/identity-chip.tsx";
import { DecisionBar } from "./decision-bar.tsx";
import { Files } from "./files.tsx";
import { Matches } from "./matches.tsx";
import { Owners } from "./owners.tsx";
import {
  inWords,
  loadQueue,
  loadReview,
  loadVersion,
  nameIn,
  nameOfReviewer,
  type Outcome,
  type Review,
  type ReviewField,
  reviewPath,
} from "./review.ts";

const DONE: Readonly<Record<Outcome, string>> = {
  decided: "Your decision is saved.",
  proposed: "Proposed. Another member must confirm it before it takes effect.",
  confirmed: "Your confirmation is saved. Another member must confirm it too.",
  returned: "Your decision differs, so the proposal was withdrawn. A new decision is needed.",
};

/** One identity: what was typed, the documents, the lists, and the decision. */
export function ReviewDetail(props: {
  account_id: string;
  user_id: string;
  onDone: (text: string) => void;
}) {
  const { account_id, user_id, onDone } = props;
  const [, navigate] = useLocation();
  const { data, error, refetch, isChanged } = useReview(account_id, user_id);
  const onDecided = async (outcome: Outcome) => {
    await queries.invalidateQueries({ queryKey: ["people"] });
    const { reviews } = await loadQueue();
    const next = reviews.find((row) => row.user_id !== user_id && !row.is_proposed);
    onDone(`${data ? nameIn(data) : "Review"}: ${DONE[outcome]}`);
    if (next) navigate(reviewPath(next));
    else navigate("/people/reviews");
  };
  if (error && !data) {
    return (
      <>
        <BackLink name="Identity reviews" path="/people/reviews" />
        <PageHead title="Identity review" />
        <Failure error={error} onRetry={refetch} />
      </>
    );
  }
  if (!data) return <Loading />;
  return (
    <>
      <BackLink name="Identity reviews" path="/people/reviews" />
      <PageHead title={nameIn(data)}>
        <IdentityChip status={data.status} />
      </PageHead>
      <p className="quiet review-line">
        {data.user.beneficiary_type === "business" ? "Business" : "Person"}
        {session.account.is_operator && ` of ${data.account.name}`}
        {data.submitted_at && (
          <>
            , submitted <Moment at={data.submitted_at} />
          </>
        )}
        {data.comment && `. Last comment: “${data.comment}”`}
      </p>
      {isChanged && (
        <Alert color="yellow" variant="light" mb="md" role="status">
          This review has changed since you opened it. You see what is there now.
        </Alert>
      )}
      <Matches user_id={user_id} />
      <div className="review-sides">
        <TypedData review={data} />
        <Files review={data} />
      </div>
      <Owners review={data} />
      <PastDecisions review={data} />
      <DecisionBar
        key={`${user_id} ${data.seen}`}
        review={data}
        onDecided={onDecided}
        onStale={() => void refetch()}
      />
    </>
  );
}

/**
 * Each read of the data is recorded: it is read again only when there is another version of it, by
 * whomever. The version is asked for, because no event tells of the users of other accounts.
 */
function useReview(account_id: string, user_id: string) {
  const current = useQuery({
    queryKey: ["review", account_id, user_id],
    queryFn: () => loadVersion(account_id, user_id),
    refetchInterval: LOOK_EVERY_MS,
  });
  const version = current.data?.version;
  const first = useRef(version);
  first.current ??= version;
  const { data, error, refetch } = useQuery({
    queryKey: ["opened-review", account_id, user_id, version],
    queryFn: () => loadReview(account_id, user_id),
    enabled: version !== undefined,
    placeholderData: (before) => before,
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return {
    data,
    error: current.error ?? error,
    refetch: () => (version === undefined ? current.refetch() : refetch()),
    isChanged: version !== first.current,
  };
}

/** Who acts for a business stands apart from the business itself. */
function TypedData({ review: { fields, user, swift } }: { review: Review }) {
  const acting = fields.filter(({ name }) => name.startsWith("controller_"));
  const own = fields.filter(({ name }) => !name.startsWith("controller_"));
  return (
    <div className="stacked">
      <FieldList
        title={user.beneficiary_type === "business" ? "Company" : "Typed data"}
        fields={own}
      >
        <div>
          <dt>E-mail</dt>
          <dd className="breakable">{user.email}</dd>
        </div>
        <div>
          <dt>Id</dt>
          <dd>
            <RecordId id={user.id} />
          </dd>
        </div>
        <div>
          <dt>Swift in eur</dt>
          <dd>{inWords(swift.eur)}</dd>
        </div>
        <div>
          <dt>Swift in other currencies</dt>
          <dd>{inWords(swift.usd)}</dd>
        </div>
      </FieldList>
      {acting.length > 0 && <FieldList title="Who acts for it" fields={acting} />}
    </div>
  );
}

function FieldList(props: { title: string; fields: readonly ReviewField[]; children?: ReactNode }) {
  return (
    <section className="card sums">
      <div className="sums-head">
        <Title order={2} size="h5">
          {props.title}
        </Title>
      </div>
      <dl>
        {props.fields.map((field) => (
          <div key={field.name}>
            <dt>{inWords(field.name.replace("controller_", ""))}</dt>
            <dd>
              {field.value ?? <span className="none">–</span>}
              {field.is_contradicted && (
                <div className="review-warning">
                  The account had sent: {field.before ?? "nothing"}
                </div>
              )}
              {field.is_changed_since && (
                <div className="review-warning">
                  The account has since changed this to: {field.since ?? "nothing"}. If you approve,
                  that is kept.
                </div>
              )}
            </dd>
          </div>
        ))}
        {props.children}
      </dl>
    </section>
  );
}

function PastDecisions({ review: { past } }: { review: Review }) {
  if (past.length === 0) return null;
  return (
    <section className="card sums review-notes" aria-labelledby="review-past">
      <div className="sums-head">
        <Title order={2} size="h5" id="review-past">
          Earlier decisions
        </Title>
      </div>
      <dl>
        {past.map(({ at, by, label, comment }) => (
          <div key={`${at} ${label}`}>
            <dt>
              {nameOfReviewer(by)}, <Moment at={at} />
            </dt>
            <dd>
              {label}
              {comment && <div className="quiet">“{comment}”</div>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
