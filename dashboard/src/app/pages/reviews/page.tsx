import { Alert } from "@mantine/core";
import { useState } from "react";
import { useParams } from "wouter";
import { NotForYou } from "../../parts/states.tsx";
import { may } from "../../session.ts";
import { ReviewDetail } from "./detail.tsx";
import { ReviewQueue } from "./queue.tsx";

export default function ReviewsPage() {
  const { account_id, user_id } = useParams<{ account_id?: string; user_id?: string }>();
  /** What became of the last decision: shown above the next review. */
  const [done, setDone] = useState<string | null>(null);
  if (!may("review_kyc")) return <NotForYou />;
  return (
    <>
      {done && (
        <Alert
          color="green"
          variant="light"
          mb="md"
          role="status"
          withCloseButton
          closeButtonLabel="Dismiss"
          onClose={() => setDone(null)}
        >
          {done}
        </Alert>
      )}
      {account_id && user_id ? (
        <ReviewDetail key={user_id} {...{ account_id, user_id }} onDone={setDone} />
      ) : (
        <ReviewQueue />
      )}
    </>
  );
}
