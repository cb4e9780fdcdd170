import { Icon, type IconName } from "../parts/icons.tsx";
import { Notice } from "../parts/notice.tsx";
import { StepFrame } from "../parts/step-frame.tsx";
import { useSession } from "../session.ts";
import { isMasked, type KycState } from "../state.ts";
import { firstOpenStep, type PlaceName } from "../step-list.ts";
import { dayAndTime, fill, texts } from "../texts.ts";

/** Who asks, why, how long it takes, and how the data is used. Viewing it saves nothing. */
export function Welcome() {
  const { state, go } = useSession();
  const words = texts.welcome;
  const account = state.account_name;
  const is_business = state.beneficiary_type === "business";
  const is_retry = state.moderation_comment !== null && state.moderation_comment !== "";
  const title = is_business ? words.title_business : words.title;
  const has_begun = state.status === "initiated";
  return (
    <StepFrame title={fill(is_retry ? words.retry_title : title, { account })}>
      {is_retry ? (
        <>
          <p className="lead">{fill(words.retry_lead, { account })}</p>
          <blockquote>{state.moderation_comment}</blockquote>
        </>
      ) : (
        <p className="lead">{words.lead}</p>
      )}
      <h2>{words.need_title}</h2>
      <ul className="needs">
        {is_business && (
          <Need icon="building" title={words.registration_title} text={words.registration} />
        )}
        <Need
          icon="document"
          title={is_business ? words.document_title_business : words.document_title}
          text={words.document}
        />
        <Need
          icon="camera"
          title={words.camera_title}
          text={is_business ? words.camera_business : words.camera}
        />
        <Need
          icon="clock"
          title={is_business ? words.time_title_business : words.time_title}
          text={words.time}
        />
      </ul>
      <div className="buttons">
        <button type="button" className="primary" onClick={() => go(firstPlace(state))}>
          {has_begun ? texts.buttons.go_on : texts.buttons.start}
        </button>
      </div>
      <Notice kind="plain" icon="lock" title={words.data_title}>
        <ul className="plain-list">
          {words.data.map((sentence) => (
            <li key={sentence}>{fill(sentence, { account })}</li>
          ))}
        </ul>
      </Notice>
      <p className="hint spaced">{fill(words.expires, { time: dayAndTime(state.expires_at) })}</p>
    </StepFrame>
  );
}

function Need({ icon, title, text }: { icon: IconName; title: string; text: string }) {
  return (
    <li>
      <Icon name={icon} />
      <div>
        <strong>{title}</strong>
        <p>{text}</p>
      </div>
    </li>
  );
}

/** Confirming the birth date comes first if it unlocks hidden data: it saves typing. */
function firstPlace(state: KycState): PlaceName {
  const is_hidden = state.fields.some(({ name }) => isMasked(state, name));
  return is_hidden && state.can_confirm ? "confirm" : firstOpenStep(state);
}
