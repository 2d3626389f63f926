import { useMutation, useQuery } from '@tanstack/react-query';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Badge } from '../components/badge';
import { coded, conditions, counted, named, shown } from '../components/columns';
import { Facts } from '../components/facts';
import { Form } from '../components/form';
import { Listing } from '../components/listing';
import { listOr, Resource } from '../components/resource';
import { Failure } from '../components/states';
import type { Column } from '../components/table';
import * as field from '../domain/fields';
import { formatAge, formatCount, formatDuration } from '../domain/format';
import { useNow } from '../store/now';
import { go } from '../store/place';

type Notification = Schemas['Notification'];

export const Notifications = listOr(List, One);

const severities = (n: Notification) =>
  (n.spec.severities?.length ? n.spec.severities : ['fault', 'warning']).join(', ');

function List() {
  const all = useQuery(ask.notifications);
  const now = useNow();
  const columns: Column<Notification>[] = [
    named('Notification', 'notifications'),
    conditions(1.2),
    coded('Receiver', (n) => n.spec.url, 2.4),
    { name: 'Causes', key: severities },
    counted('Waiting', (n) => n.status.pending, 0.6),
    counted('Lost', (n) => n.status.lost, 0.5),
    shown(
      'Delivered',
      (n) => n.status.delivered,
      (t) => `${formatAge(t, now)} ago`,
      { none: 'never', width: 0.8 },
    ),
  ];
  return (
    <Listing
      collection="notifications"
      title="Notifications"
      of={all}
      columns={columns}
      empty="There is no notification. A notification has a webhook told of causes: when they begin, change and are over."
      make={(close) => <NotificationForm close={close} />}
    />
  );
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

function NotificationForm({ of, close }: { of?: Notification; close: () => void }) {
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
  return (
    <Form
      collection="notifications"
      of={of}
      fields={fields}
      close={close}
      done={(name) => go(['notifications', name])}
    />
  );
}

function One({ name }: { name: string }) {
  const now = useNow();
  const trial = useMutation({ mutationFn: () => act.testNotification(name) });
  const ago = (time: string | undefined) => time && `${formatAge(time, now)} ago`;
  return (
    <Resource
      collection="notifications"
      name={name}
      of={useQuery(ask.notification(name))}
      actions={() => (
        <button type="button" disabled={trial.isPending} onClick={() => trial.mutate()}>
          Send a test message
        </button>
      )}
      form={(n, close) => <NotificationForm of={n} close={close} />}
    >
      {(n) => (
        <>
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
          <Facts
            label={`Notification ${name}`}
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
              [
                'Next attempt',
                n.status.nextAttempt &&
                  `in ${formatAge(new Date(now).toISOString(), Date.parse(n.status.nextAttempt))}`,
              ],
              ['Version', n.version],
            ]}
          />
        </>
      )}
    </Resource>
  );
}
