import { useMutation } from '@tanstack/react-query';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Badge } from '../components/badge';
import { ago, coded, conditions, counted, named } from '../components/columns';
import { Facts } from '../components/facts';
import type { Described } from '../components/form';
import { pagesOf } from '../components/resource';
import { Failure } from '../components/states';
import type { Column } from '../components/table';
import * as field from '../domain/fields';
import { formatAge, formatCount, formatDuration, formatUntil } from '../domain/format';
import { useNow } from '../store/now';

type Notification = Schemas['Notification'];

export const Notifications = pagesOf<Notification>({
  collection: 'notifications',
  title: 'Notifications',
  all: ask.notifications,
  one: ask.notification,
  useColumns,
  empty: 'There is no notification. A notification has a webhook told of causes: when they begin, change and are over.',
  Page: One,
  useForm: useNotificationForm,
});

const severities = (n: Notification) =>
  (n.spec.severities?.length ? n.spec.severities : ['fault', 'warning']).join(', ');

function useColumns(): Column<Notification>[] {
  const now = useNow();
  return [
    named('Notification', 'notifications'),
    conditions(1.2),
    coded('Receiver', (n) => n.spec.url, 2.4),
    { name: 'Causes', key: severities },
    counted('Waiting', (n) => n.status.pending, 0.6),
    counted('Lost', (n) => n.status.lost, 0.5),
    ago('Delivered', (n) => n.status.delivered, now, 0.8, 'never'),
  ];
}

const causeKinds: readonly Schemas['Cause']['kind'][] = [
  'controller',
  'BGP-LS peer',
  'switch',
  'link',
  'drain',
  'fabric',
  'host',
  'host port',
  'EV profile',
  'multicast group',
  'SRv6 policy',
  'tenant',
  'PFC policy',
  'job',
];

function useNotificationForm(of?: Notification): Described {
  const fields = [
    field.text('url', 'Receiver', {
      required: true,
      hint: 'http or https: messages are posted there, as Standard Webhooks has them.',
    }),
    field.secret('secret', 'Secret', {
      make: () => `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`,
      hint: `What messages are signed with: whsec_ and 24 to 64 octets in base64. ${of ? 'Empty: it stays as it is.' : 'Nothing is sent without one.'}`,
    }),
    field.texts('severities', 'Severity', 'Of causes of these severities', {
      from: field.choices(['fault', 'warning', 'work']),
      hint: 'None: fault and warning.',
    }),
    field.texts('kinds', 'Kind', 'Of causes of these kinds', {
      from: field.choices(causeKinds),
      hint: 'None: of all.',
    }),
    field.text('after', 'After', {
      hint: 'How long a cause must last, or be over, before that is sent. Empty: 10s.',
    }),
  ];
  return { fields };
}

/** Sends a test message, and says what became of it. */
function Test({ name }: { name: string }) {
  const trial = useMutation({ mutationFn: () => act.testNotification(name) });
  return (
    <>
      <p>
        <button type="button" disabled={trial.isPending} onClick={() => trial.mutate()}>
          Send a test message
        </button>
      </p>
      {trial.isPending && (
        <p className="state" role="status">
          Waiting for the receiver…
        </p>
      )}
      {trial.isError && <Failure error={trial.error} />}
      {trial.isSuccess && (
        <section className="chosen" aria-label="Test message">
          <p role="status">
            <Badge tone={trial.data.taken ? 'ok' : 'fault'}>
              {trial.data.taken ? 'The receiver took the message' : 'The receiver did not take the message'}
            </Badge>{' '}
            {trial.data.status ? `It answered ${trial.data.status} after ${trial.data.tookMs} ms. ` : ''}
            {trial.data.error && `${trial.data.error}.`}
          </p>
        </section>
      )}
    </>
  );
}

function One({ of: n }: { of: Notification }) {
  const now = useNow();
  const ago = (time: string | undefined) => time && `${formatAge(time, now)} ago`;
  return (
    <>
      <Test name={n.name} />
      <Facts
        label={`Notification ${n.name}`}
        of={[
          ['Receiver', <code>{n.spec.url}</code>],
          ['Causes', `${severities(n)}${n.spec.kinds?.length ? ` of ${n.spec.kinds.join(', ')}` : ''}`],
          ['After', n.spec.after && formatDuration(n.spec.after)],
          ['Knows of', `${formatCount(n.status.told)} causes that last`],
          ['Waiting', formatCount(n.status.pending)],
          ['Lost', n.status.lost > 0 ? <Badge tone="fault">{formatCount(n.status.lost)}</Badge> : '0'],
          ['Failed since the last delivery', formatCount(n.status.failures)],
          ['Delivered', ago(n.status.delivered) ?? 'never'],
          ['Last error', n.status.lastError && `${n.status.lastError}, ${ago(n.status.lastErrorAt) ?? ''}`],
          ['Next attempt', n.status.nextAttempt && formatUntil(n.status.nextAttempt, now)],
          ['Version', n.version],
        ]}
      />
    </>
  );
}
