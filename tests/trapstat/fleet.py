#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""fleet.py prometheus TRAPSTAT GRAFANA.json: Debian's prometheus scrapes trapstat by its listener
and by the textfile collector of prometheus-node-exporter. Fails if the two differ, or if a query of
the dashboard has no result.
fleet.py clients TRAPSTAT: a port in use; silent clients, more than it takes; other requests.
fleet.py round_trip FILE.json FILE.json: fails if a value of the first is not in the second."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

def free_port():
    """A TCP port that nobody listens on."""
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def wait_for(what, seconds=60):
    """The first result of what() that is neither empty nor an error of the network."""
    until = time.time() + seconds
    while time.time() < until:
        try:
            found = what()
            if found:
                return found
        except OSError:
            pass
        time.sleep(0.5)
    sys.exit('%s did not come in %d s' % (what.__doc__, seconds))


def get(url):
    """The text at an URL."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


def series(query, job):
    """All that prometheus has of a job of trapstat: the value by name and labels. What the kernel
    skips goes on, with or without this program."""
    found = {}
    for result in query('{__name__=~"trapstat_.*",job="%s"}' % job):
        labels = {k: v for k, v in result['metric'].items() if k not in ('job', 'instance')}
        if 'skipped' not in labels.get('what', ''):
            found[tuple(sorted(labels.items()))] = float(result['value'][1])
    return found


def check_queries(query, dashboard, text):
    """Each query of the dashboard has a result, or there was nothing to count."""
    known = set(re.findall(r'^# TYPE (\w+)', text, re.M))
    with open(dashboard, encoding='ascii') as file:
        found = json.load(file)
    expressions = [target['expr'] for panel in found['panels'] for target in panel['targets']]
    for expression in expressions:
        expression = re.sub(r'\$(job|instance)', '.*', expression)
        expression = expression.replace('$__rate_interval', '1m')
        results = query(expression)
        names = {re.sub('_(bucket|count|sum)$', '', name)
                 for name in re.findall(r'trapstat_\w+', expression)}
        print(len(results), expression)
        if names - known or (not results and 'trap!=' not in expression):
            sys.exit('no result: ' + expression)
    if len(expressions) < 5:
        sys.exit('the dashboard has too few queries')


def check_prometheus(trapstat, dashboard):
    """Both ways into prometheus: what a program has done is the same in both."""
    listen, exporter, server = free_port(), free_port(), free_port()

    def query(expression):
        text = get('http://127.0.0.1:%d/api/v1/query?query=%s'
                   % (server, urllib.parse.quote(expression)))
        return json.loads(text)['data']['result']

    def both_jobs():
        """a scrape of both jobs"""
        return len(query('trapstat_lost_total{what="faults"}')) == 2

    def both_equal():
        """the same figures both ways, with all the page faults,"""
        one, other = series(query, 'listener'), series(query, 'textfile')
        faults = sum(value for key, value in one.items() if ('trap', '#PF') in key)
        return one if one == other and faults > 5000 else None

    with tempfile.TemporaryDirectory() as tmp, open(tmp + '/log', 'w', encoding='ascii') as log:
        with open(tmp + '/config', 'w', encoding='ascii') as file:
            file.write('global: {scrape_interval: 1s}\nscrape_configs:\n')
            for job, port in ('listener', listen), ('textfile', exporter):
                file.write(" - {job_name: %s, static_configs: [{targets: ['127.0.0.1:%d']}]}\n"
                           % (job, port))
        os.mkdir(tmp + '/text')
        os.symlink(os.path.realpath(sys.executable), tmp + '/fleet-load')
        programs = [subprocess.Popen(command, stdout=log, stderr=log) for command in (
            [trapstat, 'export', '-c', 'fleet-load', '--listen', str(listen),
             '-o', tmp + '/text/trapstat.prom', '0.5'],
            ['prometheus-node-exporter', '--web.listen-address=127.0.0.1:%d' % exporter,
             '--collector.disable-defaults', '--collector.textfile',
             '--collector.textfile.directory=' + tmp + '/text'],
            ['prometheus', '--config.file=' + tmp + '/config',
             '--storage.tsdb.path=' + tmp + '/data',
             '--web.listen-address=127.0.0.1:%d' % server])]
        try:
            wait_for(both_jobs)
            for _ in range(4):
                subprocess.run([tmp + '/fleet-load', '-c', 'bytearray(10**7)'], check=True)
                subprocess.run([tmp + '/fleet-load', '-c', 'import ctypes; ctypes.string_at(8)'],
                               check=False)
                time.sleep(1)
            found = wait_for(both_equal)
            text = get('http://127.0.0.1:%d/metrics' % listen)
            check_queries(query, dashboard, text)
            about = set(re.findall('^# .*', get('http://127.0.0.1:%d/metrics' % exporter), re.M))
            with open(tmp + '/text/trapstat.prom', encoding='ascii') as file:
                if set(re.findall('^# .*', file.read(), re.M)) - about:
                    sys.exit('the collector has not each type and help')
        finally:
            for program in programs:
                program.terminate()
                program.wait()
    print('%d series are equal' % len(found))
    subprocess.run(['promtool', 'check', 'metrics'], check=True, input=text, text=True)


def request(port, method, path):
    """The status that a request gets."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
    connection.request(method, path)
    return connection.getresponse().status


def check_clients(trapstat):
    """What clients may do to the listener."""
    port = free_port()
    begin = [trapstat, 'export', '--listen', '127.0.0.1:%d' % port, '1']
    with subprocess.Popen(begin) as program:
        try:
            wait_for(lambda: request(port, 'GET', '/metrics') == 200)
            again = subprocess.run(begin, stderr=subprocess.PIPE, text=True, check=False)
            print(again.returncode, again.stderr.strip())
            statuses = [request(port, *words) for words in (
                ('HEAD', '/metrics'), ('GET', '/'), ('GET', '/../etc/passwd'), ('POST', '/metrics'),
                ('DELETE', '/metrics'))]
            print(statuses)
            silent = [socket.create_connection(('127.0.0.1', port)) for _ in range(30)]
            time.sleep(1)
            folder = '/proc/%d/fd/' % program.pid
            held = sum(os.readlink(folder + fd).startswith('socket:') for fd in os.listdir(folder))
            begun = time.time()
            wait_for(lambda: request(port, 'GET', '/metrics') == 200)
            print('%d silent clients, %d open sockets, the next one waited for %.1f s'
                  % (len(silent), held, time.time() - begun))
            left = [s for s in silent[:16] if s.recv(1)]
            with open('/proc/net/tcp', encoding='ascii') as file:
                where = [line.split()[1] for line in file
                         if line.split()[1].endswith(':%04X' % port) and line.split()[3] == '0A']
        finally:
            program.terminate()
    print(where, program.returncode)
    if (again.returncode != 1 or 'Address already in use' not in again.stderr or left or held > 20
            or statuses != [200, 404, 404, 405, 405] or where != ['0100007F:%04X' % port]
            or time.time() - begun > 20 or program.returncode):
        sys.exit('the listener does not do what it should')


def leaves(value, path=()):
    """Each value of a JSON text, with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, path + (i,))
    else:
        yield path, value


def check_round_trip(given, got):
    """kubectl has dropped nothing, as it does what it does not know."""
    texts = []
    for path in given, got:
        with open(path, encoding='ascii') as file:
            texts.append(dict(leaves(json.load(file))))
    dropped = [path for path, value in texts[0].items() if texts[1].get(path) != value]
    print(len(texts[0]), 'values')
    if dropped or len(texts[0]) < 10:
        sys.exit('dropped: %s' % dropped)


if __name__ == '__main__':
    what, *words = sys.argv[1:]
    globals()['check_' + what](*words)
