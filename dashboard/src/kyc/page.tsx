import { useCallback, useEffect, useMemo, useState } from "react";
import { openSession, Refusal } from "./api.ts";
import { Layout } from "./parts/layout.tsx";
import { useServerState } from "./server-state.ts";
import { type Session, SessionContext } from "./session.ts";
import type { KycState } from "./state.ts";
import { type PlaceName, stepsOf } from "./step-list.ts";
import { Confirm } from "./steps/confirm.tsx";
import { Details } from "./steps/details.tsx";
import { DocumentStep } from "./steps/document.tsx";
import { Ended } from "./steps/ended.tsx";
import { FilesStep } from "./steps/files-step.tsx";
import { Owners } from "./steps/owners.tsx";
import { Result } from "./steps/result.tsx";
import { Review } from "./steps/review.tsx";
import { Welcome } from "./steps/welcome.tsx";
import { texts } from "./texts.ts";

/** Opens the session, stores the server's last state, and shows the step named in the URL. */
export function Page() {
  const { state, is_lost, retryNow, change, save } = useServerState();
  const [error, setError] = useState<unknown>(null);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [announcement, setAnnouncement] = useState("");
  const [place, go] = usePlace(state);

  const open = useCallback(() => {
    setError(null);
    change(openSession).catch(setError);
  }, [change]);
  useEffect(open, [open]);

  /** If nothing can be changed any more, the state shows why; otherwise the error is shown. */
  const fail = useCallback(
    (reason: unknown) => {
      if (reason instanceof Refusal && reason.code === "invalid_transition") open();
      else setError(reason);
    },
    [open],
  );

  const session = useMemo<Session | null>(
    () =>
      state && {
        ...{ state, change, save, is_lost, go, problems, setProblems, fail },
        announce: setAnnouncement,
      },
    [state, change, save, is_lost, go, problems, fail],
  );

  return (
    <SessionContext value={session}>
      <Layout {...{ state, place, is_lost, retryNow, announcement }} has_ended={error !== null}>
        {error !== null ? (
          <Ended error={error} onRetry={open} />
        ) : state ? (
          <Place key={state.can_edit ? place : state.status} state={state} place={place} />
        ) : (
          <p className="loading" role="status">
            {texts.loading}
          </p>
        )}
      </Layout>
    </SessionContext>
  );
}

function Place({ state, place }: { state: KycState; place: PlaceName }) {
  if (!state.can_edit) return <Result />;
  const is_business = state.beneficiary_type === "business";
  const { address, selfie } = texts;
  switch (place) {
    case "welcome":
      return <Welcome />;
    case "confirm":
      return <Confirm />;
    case "about":
    case "company":
    case "person":
      return <Details step={place} {...texts[place]} />;
    case "address":
      return (
        <Details
          step="address"
          title={is_business ? address.title_business : address.title}
          lead={is_business ? address.lead_business : address.lead}
        />
      );
    case "registration":
      return <FilesStep step="registration" {...texts.registration} />;
    case "owners":
      return <Owners />;
    case "document":
      return <DocumentStep />;
    case "selfie":
      return (
        <FilesStep
          step="selfie"
          title={is_business ? selfie.title_business : selfie.title}
          lead={is_business ? selfie.lead_business : selfie.lead}
        />
      );
    case "review":
      return <Review />;
  }
}

/** The place is in the URL, so that reloading and the browser's back button work. */
function usePlace(state: KycState | null): [PlaceName, (place: PlaceName) => void] {
  const [hash, setHash] = useState(location.hash);

  useEffect(() => {
    const follow = () => setHash(location.hash);
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);

  const go = useCallback((place: PlaceName) => {
    location.hash = place;
    setHash(`#${place}`);
  }, []);

  const named = hash.slice(1);
  const places = state ? ["confirm", ...stepsOf(state).map(({ name }) => name)] : [];
  return [places.includes(named) ? (named as PlaceName) : "welcome", go];
}
