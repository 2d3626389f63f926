import { plain } from './network';

/** What of an event a sentence is made of. */
export interface Said {
  type: string;
  object?: string;
  message?: string;
}

export interface Sentence {
  severity: 'fault' | 'warning' | 'work' | 'ok' | 'quiet';
  text: string;
}

/** Names for what events have by ids: nodes, and addresses of hosts. */
export type Names = ReadonlyMap<string, string>;

const nouns: Record<string, string> = {
  group: 'Group',
  receiver: 'Receiver',
  switch: 'Switch',
  'bgp-peer': 'BGP-LS peer',
  'srv6-policy': 'SRv6 policy',
  tenant: 'Tenant',
  project: 'Project',
  job: 'Job',
  'pfc-policy': 'PFC policy',
  'ev-profile': 'EV profile',
  host: 'Host',
  port: 'Port',
  controller: 'Controller',
  certificate: 'Certificate',
  orphan: 'Orphan',
  network: 'Network',
  balance: 'Leaf',
  link: 'Link',
  suspect: 'Link',
};

/** Writes an event as a sentence, with how serious it is. */
export function sentence(e: Said, names: Names = new Map()): Sentence {
  const [family = '', verb = ''] = e.type.split('.');
  const message = e.message ?? '',
    object = e.object ?? '';
  const what = `${nouns[family] ?? capital(family)}${object ? ` ${object}` : ''}`;
  const after = (start: string) => (message.startsWith(start) ? message.slice(start.length) : undefined);
  switch (family) {
    case 'gap':
      return { severity: 'warning', text: 'Events were lost: everything has been read again.' };
    case 'silence': {
      const until = /, until (\S+)$/.exec(message)?.[1];
      if (until) return { severity: 'quiet', text: `A cause is silent until ${until} (silence ${object}).` };
      return { severity: 'quiet', text: `Silence ${object} ${message === 'deleted' ? 'was ended' : 'is over'}.` };
    }
    case 'notification':
      switch (verb) {
        case 'failing':
          return { severity: 'warning', text: `The receiver of ${small(what)} takes no messages: ${message}.` };
        case 'recovered':
          return { severity: 'ok', text: `${what}: ${message}.` };
        default:
          return { severity: 'quiet', text: `${what} was ${message}.` };
      }
    case 'cause':
      if (verb === 'ended') return { severity: 'ok', text: `No longer: ${small(after('Over: ') ?? message)}` };
      // What somebody wanted, and what every change takes, is no fault.
      if (/^.* is drained\.|^Switches (are being programmed|keep old routes)\./.test(message))
        return { severity: 'work', text: message };
      return { severity: 'fault', text: message };
    case 'job':
      switch (verb) {
        case 'ready':
          return { severity: 'ok', text: `The fabric is ready for ${small(what)}: GO.` };
        case 'blocked':
          return { severity: 'fault', text: `The fabric is not ready for ${small(what)}: ${message}.` };
        case 'deleted':
          return { severity: 'quiet', text: `${what} is deleted.` };
        default:
          return { severity: 'quiet', text: `${what}: ${message}.` };
      }
    case 'bgp-peer': {
      const text = plain(/\(AS \d+\)[^:]*: (.*)$/.exec(message)?.[1] ?? '');
      const up = message.endsWith('established');
      return up
        ? { severity: 'ok', text: `The BGP-LS session with ${object} is established.` }
        : { severity: 'fault', text: join(`There is no BGP-LS session with ${object}`, text) };
    }
    case 'topology': {
      const counts = /(\d+ nodes), (\d+ links), (\d+ prefixes)/.exec(message);
      const stale = /stale: (.*)$/.exec(message)?.[1];
      return {
        severity: stale ? 'warning' : 'quiet',
        text: counts
          ? `The topology has ${counts[1]}, ${counts[2]} and ${counts[3]}${stale ? `, and may be old: ${stale}` : ''}.`
          : `The topology has changed.`,
      };
    }
    case 'switch':
      if (message.startsWith('connected')) return { severity: 'ok', text: `${what} is connected.` };
      return { severity: 'fault', text: `${what}: ${small(plain(message)) || 'its state has changed.'}` };
    case 'receiver': {
      const name = names.get(message) ?? message;
      if (verb === 'stalled') return { severity: 'fault', text: `Receiver ${name} stalls group ${object}.` };
      if (verb === 'recovered') return { severity: 'ok', text: `Receiver ${name} no longer stalls group ${object}.` };
      return { severity: 'warning', text: `Receiver ${name} was taken out of the tree of group ${object}.` };
    }
    case 'link': {
      const cause = after('denied: ');
      if (message === 'restored') return { severity: 'ok', text: `Link ${link(object, names)} is used again.` };
      return { severity: 'fault', text: join(`Link ${link(object, names)} is out of use`, plain(cause ?? message)) };
    }
    case 'suspect': {
      const ids = object.replace(/^\[|\]$/g, '').split(' ');
      const figures = /loses ([0-9.e+-]+) of its packets, confidence ([0-9.]+)/.exec(message);
      const one = ids.length === 1 ? `Link ${link(ids[0]!, names)}` : `One of ${ids.length} links`;
      return {
        severity: 'warning',
        text: figures
          ? `${one} loses ${Number((Number(figures[1]) * 100).toPrecision(2))} % of its packets, with a confidence of ${Math.floor(Number(figures[2]) * 100)} %.`
          : `${one} loses packets.`,
      };
    }
    case 'drain': {
      const [kind = '', ...rest] = object.split(' ');
      const of = rest.join(' ');
      const name =
        kind === 'link'
          ? `Link ${link(of, names)}`
          : kind === 'node'
            ? `Switch ${names.get(of) ?? of}`
            : capital(object);
      if (message === 'in use') return { severity: 'ok', text: `${name} is in use again.` };
      return { severity: 'work', text: `${name} is ${message === 'draining' ? 'being drained' : message}.` };
    }
    case 'ev-profile': {
      const why = after('degraded: ');
      if (why !== undefined) return { severity: 'warning', text: join(`${what} is degraded`, plain(why)) };
      return { severity: 'ok', text: `${what} is as it should be.` };
    }
    case 'connection':
      return connection(verb, object, message, names);
    case 'host': {
      const neighbor = neighborOf(verb, object, message);
      if (neighbor) return neighbor;
      const why = after('refused: ');
      if (why !== undefined) return { severity: 'fault', text: join(`${what} refuses its configuration`, plain(why)) };
      if (message === 'refuses nothing any more') return { severity: 'ok', text: `${what} ${message}.` };
      if (/^connected/.test(message)) return { severity: 'ok', text: `${what} is connected.` };
      return { severity: 'warning', text: `${what}: ${small(plain(message)) || 'its state has changed.'}` };
    }
    case 'fabric':
      return message
        ? { severity: 'fault', text: join('There is no MRC fabric of the present topology', plain(message)) }
        : { severity: 'ok', text: 'The MRC fabric is that of the present topology.' };
    case 'port': {
      if (verb !== 'changed') break;
      if (message.startsWith('down')) return { severity: 'fault', text: `${what} is down: its link is not used.` };
      if (message === 'its link is used again') return { severity: 'ok', text: `${what} is up: ${message}.` };
      const drift = after('drifted: ');
      if (drift !== undefined)
        return { severity: 'warning', text: join(`${what} has other settings than wanted`, plain(drift)) };
      break;
    }
  }
  if (verb === 'deleted') return { severity: 'quiet', text: `${what} is deleted.` };
  const state = conditionsOf(message);
  if (state) return { severity: state.severity, text: `${what} ${state.text}.` };
  const grave = /lost|failed|refused|expired|overflow|^storm$/.test(verb);
  const text = plain(message);
  return {
    severity: grave
      ? 'fault'
      : /risk|expiring|miscabled|alarm|uneven/.test(verb)
        ? 'warning'
        : /recovered|renewed|ended|cabled/.test(verb)
          ? 'ok'
          : 'quiet',
    text: !text
      ? `${what}: ${verb.replaceAll('-', ' ')}.`
      : object && text.includes(object)
        ? text
        : object || nouns[family]
          ? `${what}: ${small(text)}`
          : text,
  };
}

/** What an application did with its connection to a group: the message is ROLE ADDRESS, or ROLE ADDRESS: WHY. */
function connection(verb: string, group: string, message: string, names: Names): Sentence {
  const [, role = 'host', address = '', why = ''] = /^(source|receiver) (\S+?)(?:: (.*))?$/.exec(message) ?? [];
  const who = capital(`${role} ${names.get(address) ?? address}`.trim());
  switch (verb) {
    case 'up':
      return { severity: 'ok', text: `${who} is connected to group ${group}.` };
    case 'down':
      return { severity: 'quiet', text: `${who} has left group ${group}.` };
  }
  const own = /^by the host: (.*)$/.exec(why)?.[1];
  const text = own ? `${who} refuses the connection of group ${group}` : `${who} is not connected to group ${group}`;
  return { severity: 'warning', text: why ? `${text}: ${own ?? why}.` : `${text}.` };
}

/** What was learned of a host by neighbor discovery or ARP; undefined for other events of hosts. */
function neighborOf(verb: string, object: string, message: string): Sentence | undefined {
  const [, address = '', mac = '', at = '', from] =
    /^(\S+) is (\S+) at (\S+?)(?:, and was at (\S+)| now)?$/.exec(message) ?? [];
  switch (verb) {
    case 'bound':
      if (at) return { severity: 'ok', text: `Host ${object} is at ${at}: ${address}, MAC ${mac}.` };
      break;
    case 'moved':
      if (from) return { severity: 'quiet', text: `Host ${object} has moved from ${from} to ${at}: ${address}.` };
      if (at) return { severity: 'quiet', text: `Host ${object} at ${at} has another MAC for ${address}: ${mac}.` };
      break;
    case 'gone': {
      const gone = /^(\S+) at (\S+) does not answer$/.exec(message);
      if (gone) return { severity: 'warning', text: `Host ${object} at ${gone[2]} does not answer: ${gone[1]}.` };
      break;
    }
    case 'refused': {
      const not = /^(\S+) at (\S+) is not bound: (.*)$/.exec(message);
      if (not) return { severity: 'warning', text: `MAC ${not[1]} at ${not[2]} may not have ${object}: ${not[3]}.` };
    }
  }
  return undefined;
}

/** Reads conditions as events have them: Accepted=yes (Planned) Programmed=no (Installing). */
function conditionsOf(message: string): Sentence | undefined {
  const all = new Map(
    [...message.matchAll(/([A-Z]\w+)=(yes|no) \((\w*)\)/g)].map((m) => [
      m[1]!,
      { is: m[2] === 'yes', why: words(m[3]!) },
    ]),
  );
  if (all.size === 0) return undefined;
  const accepted = all.get('Accepted'),
    degraded = all.get('Degraded'),
    programmed = all.get('Programmed');
  if (accepted && !accepted.is) return { severity: 'fault', text: `is not accepted: ${accepted.why}` };
  if (degraded?.is) return { severity: 'fault', text: `is degraded: ${degraded.why}` };
  if (programmed && !programmed.is)
    return {
      severity: 'quiet',
      text: programmed.why === 'installing' ? 'is being programmed' : `is not programmed: ${programmed.why}`,
    };
  return { severity: 'ok', text: 'is programmed' };
}

const words = (reason: string) => reason.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
/** A sentence after a colon begins small, unless with a name. */
const small = (text: string) => (/^[A-Z][a-z]+( |:|$)/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text);
const join = (head: string, why: string) => (why ? `${head}: ${small(why)}` : `${head}.`);

/** Names a link by its ends; an id is NODE,PORT~NODE,PORT. */
function link(id: string, names: Names): string {
  return id
    .split('~')
    .map((end) => names.get(end.split(',')[0]!) ?? end)
    .join(' → ');
}
