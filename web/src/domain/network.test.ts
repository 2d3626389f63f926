import { expect, test } from 'vitest';
import { names, plain, reverse } from './network';

test('errors of connections are sentences', () => {
  expect(
    plain(
      'opening the stream: southbound: rpc error: code = Unavailable desc = "connection error: desc = \\"transport: Error while dialing: dial tcp 127.0.0.1:9559: connect: connection refused\\""',
    ),
  ).toBe('Nothing listens at 127.0.0.1:9559: the connection was refused.');
  expect(plain('rpc error: code = DeadlineExceeded desc = context deadline exceeded')).toBe(
    'It did not answer in time.',
  );
  expect(plain('port 3 is down')).toBe('Port 3 is down.');
  expect(plain('')).toBe('');
});

test('three names are listed, and others counted', () => {
  expect(names(['a', 'b', 'c'])).toBe('a, b, c');
  expect(names(['a', 'b', 'c', 'd'])).toBe('a, b, c and 1 more');
});

test('the other direction of a link has its ends in the other order', () => {
  expect(reverse('a,1~b,2')).toBe('b,2~a,1');
  expect(reverse('x')).toBe('x');
});
