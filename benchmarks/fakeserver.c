/* fakeserver.c - a fake LLM server whose timing is known and which keeps its own truth of every request.
 * One thread, epoll, keep-alive connections, answers streamed as server-sent events in HTTP chunks.
 *
 *   gcc -O2 -Wall -o fakeserver fakeserver.c
 *   ./fakeserver --port 0 --ttft 50 --tpot 10 [--exact | --free-run [--batch N]] [--max-running K]
 *                [--tokens-per-chunk N] [--fault NAME] [--model NAME] [--word TEXT]
 *
 * It prints "listening on PORT" once it does; --port 0 takes a free one. Times of the flags are milliseconds.
 *
 * Timing
 *   lockstep (default)  The steps of an engine, one every TPOT; they begin at arrival + TTFT of the first request after
 *                       idleness. A request gets its first chunk at the first step not before its arrival + TTFT, and
 *                       one chunk at every later step: its true TTFT lies in [TTFT, TTFT + TPOT), its true TPOT is
 *                       TPOT.
 *   --exact             No common steps: every request has its own clock, its TTFT and TPOT are exact.
 *   --free-run          After TTFT, chunks as fast as the socket takes them, --batch of them in a send().
 *   --max-running K     Further requests queue, first in, first out. TTFT starts when a request leaves the queue; with
 *                       --exact that is when the one before it was due to end, so that lateness does not add up.
 *   A slow client is not waited for: what its socket does not take is kept here and sent later.
 *
 * Faults: http500 (every request answers 500), errevent (an error event and [DONE] after three chunks), halfclose (at
 * half of the chunks a clean end of the stream without usage or [DONE]), halfabort (there the connection is closed),
 * halfstall (there nothing more is sent).
 *
 * Paths
 *   POST /v1/completions, /v1/chat/completions   streamed or not; max_tokens or max_completion_tokens; usage in a last
 *                                                chunk where stream_options.include_usage asks for it, then [DONE]
 *   POST /tokenize    GET /health /v1/models /metrics /version
 *   GET  /truth.csv   A '#' line: offset of the real-time clock, lateness of the steps, count of HTTP requests, peak of
 *                     requests running. Then a line per request, in the order in which they ended:
 *                       arrival, first, last, end, chunks, tokens, blocked sends, aborted, seen, bytes
 *                     arrival: it was read whole; first, last: its first and last chunk were handed to the kernel;
 *                     seen: its first byte was read; bytes: of its head and body. Seconds of CLOCK_MONOTONIC, on Linux
 *                     Python's time.perf_counter().
 *   POST /reset       forget the records
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ACTIVE = 65536, MAX_EVENTS = 512, MAX_LATENESS = 4000000, MAX_TEXT_TOKENS = 800, READ_SIZE = 65536 };
enum { CHUNKS_BUFFER = 1 << 20, CHUNK_MAX = 20000 };

/* ------------------------------------------------------------------------------------------------ configuration */

static double ttft = 0.05, tpot = 0.01; /* seconds */
static int port = 19000, tokens_per_chunk = 1, exact, free_run, batch = 1, max_running;
static const char *model = "tiny", *fault = "", *word = " the";

/* -------------------------------------------------------------------------------------------------------- state */

typedef struct connection {
  int fd;
  int active;  /* a request of this connection is being answered, or waits in the queue */
  int queued;  /* it waits in the queue */
  int place;   /* its index in running[], -1 when it is not there */
  int stalled; /* nothing more will be sent for it */
  int close_after;
  int chat, stream, usage; /* what it asked for */
  int prompt_tokens, asked_tokens, sent_chunks;
  int watching_out; /* epoll tells us when the socket takes more */
  char *in;
  size_t in_length, in_capacity;
  char *out; /* out[out_begin .. out_end) is not yet taken by the socket */
  size_t out_begin, out_end, out_capacity;
  double seen, arrival, due, first, last;
  long blocked_sends, id, bytes;
  struct connection *queue_next;
} Connection;

typedef struct {
  double arrival, first, last, end, seen;
  int chunks, tokens, aborted;
  long blocked_sends, bytes;
} Record;

static Record *records;
static long record_count, record_capacity;
static double *lateness; /* seconds, one per step */
static long lateness_count, lateness_capacity;

static Connection *running[MAX_ACTIVE], *queue_head, *queue_tail;
static int running_count;
static int poller;
static double next_step; /* lockstep: when it is due */
static long last_id, http_requests, peak_running;

static double clock_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static double now(void) { return clock_s(CLOCK_MONOTONIC); }

/* -------------------------------------------------------------------------------------------------------- truth */

static void add_record(Connection *c, int aborted) {
  if (record_count == record_capacity) {
    record_capacity = record_capacity ? record_capacity * 2 : 4096;
    records = realloc(records, record_capacity * sizeof *records);
  }
  int tokens = c->sent_chunks * tokens_per_chunk;
  records[record_count++] = (Record){
    .arrival = c->arrival, .first = c->first, .last = c->last, .end = now(), .seen = c->seen,
    .chunks = c->sent_chunks, .tokens = tokens < c->asked_tokens ? tokens : c->asked_tokens,
    .aborted = aborted, .blocked_sends = c->blocked_sends, .bytes = c->bytes,
  };
}

static void add_lateness(double seconds) {
  if (lateness_count == lateness_capacity) {
    if (lateness_capacity > MAX_LATENESS) return;
    lateness_capacity = lateness_capacity ? lateness_capacity * 2 : 65536;
    lateness = realloc(lateness, lateness_capacity * sizeof *lateness);
  }
  lateness[lateness_count++] = seconds;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* ------------------------------------------------------------------------------------------------------ sending */

static void watch(Connection *c, int out) {
  struct epoll_event event = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
  c->watching_out = out;
}

/* Hand bytes to the socket; what it does not take is kept. */
static void push(Connection *c, const char *bytes, size_t length) {
  if (c->out_end == c->out_begin) {
    c->out_begin = c->out_end = 0;
    ssize_t written = send(c->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0) {
      if (errno != EAGAIN) return; /* the client is gone: the next read says so */
      written = 0;
    }
    if ((size_t)written == length) return;
    bytes += written;
    length -= written;
    c->blocked_sends++;
  }
  if (c->out_end + length > c->out_capacity) {
    c->out_capacity = (c->out_end + length) * 2;
    c->out = realloc(c->out, c->out_capacity);
  }
  memcpy(c->out + c->out_end, bytes, length);
  c->out_end += length;
  if (!c->watching_out) watch(c, 1);
}

static void flush(Connection *c) {
  while (c->out_begin < c->out_end) {
    ssize_t written = send(c->fd, c->out + c->out_begin, c->out_end - c->out_begin, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written <= 0) {
      if (written < 0 && errno != EAGAIN) c->out_begin = c->out_end;
      break;
    }
    c->out_begin += written;
  }
  if (c->out_begin == c->out_end) {
    c->out_begin = c->out_end = 0;
    if (c->watching_out) watch(c, 0);
  }
}

static void reply(Connection *c, int status, const char *type, const char *body, size_t length) {
  const char *reason = status == 200 ? "OK" : status == 404 ? "Not Found" : "Internal Server Error";
  char *bytes = malloc(256 + length);
  int head = snprintf(bytes, 256, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", status, reason,
                      type, length);
  memcpy(bytes + head, body, length);
  push(c, bytes, head + length);
  free(bytes);
}

static void reply_json(Connection *c, int status, const char *json) {
  reply(c, status, "application/json", json, strlen(json));
}

/* ---------------------------------------------------------------------------------------- which requests run when */

static void start(Connection *c, double at) {
  c->place = running_count;
  running[running_count++] = c;
  if (running_count > peak_running) peak_running = running_count;
  c->due = at + ttft;
  if (!exact && !free_run && running_count == 1) next_step = c->due;
}

static void enqueue(Connection *c) {
  c->queued = 1;
  c->queue_next = NULL;
  if (queue_tail) queue_tail->queue_next = c;
  else queue_head = c;
  queue_tail = c;
}

static void leave_queue(Connection *c) {
  Connection **link = &queue_head, *before = NULL;
  while (*link && *link != c) {
    before = *link;
    link = &before->queue_next;
  }
  if (*link) {
    *link = c->queue_next;
    if (queue_tail == c) queue_tail = before;
  }
  c->queued = 0;
}

/* Take a request out of running[] or out of the queue; `at`: when its place became free. */
static void stop(Connection *c, double at) {
  if (c->queued) {
    leave_queue(c);
    return;
  }
  if (c->place < 0) return;
  running[c->place] = running[--running_count];
  running[c->place]->place = c->place;
  c->place = -1;
  if (max_running && queue_head && running_count < max_running) {
    Connection *next = queue_head;
    leave_queue(next);
    start(next, at);
  }
}

static void drop(Connection *c) {
  if (c->active) {
    add_record(c, 1);
    stop(c, now());
  }
  epoll_ctl(poller, EPOLL_CTL_DEL, c->fd, NULL);
  close(c->fd);
  free(c->in);
  free(c->out);
  free(c);
}

/* ------------------------------------------------------------------------------------------------------ answers */

typedef enum { WHOLE, WITHOUT_DONE, ABORTED, ERROR_EVENT } Ending;

static const char *id_prefix(Connection *c) { return c->chat ? "chatcmpl" : "cmpl"; }

/* One server-sent event as one HTTP chunk. */
static int event(char *to, const char *json) {
  return sprintf(to, "%zx\r\ndata: %s\n\n\r\n", strlen(json) + strlen("data: \n\n"), json);
}

static void finish(Connection *c, Ending ending, double at) {
  char bytes[4096], json[2048];
  int length = 0;
  if (ending == WHOLE) {
    if (c->usage) {
      snprintf(json, sizeof json,
               "{\"id\":\"%s-%ld\",\"object\":\"%s\",\"created\":1700000000,\"model\":\"%s\",\"choices\":[],"
               "\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%d,\"completion_tokens\":%d}}",
               id_prefix(c), c->id, c->chat ? "chat.completion.chunk" : "text_completion", model, c->prompt_tokens,
               c->prompt_tokens + c->asked_tokens, c->asked_tokens);
      length += event(bytes + length, json);
    }
    length += event(bytes + length, "[DONE]");
  }
  if (ending == ERROR_EVENT) {
    length += event(bytes + length, "{\"error\":{\"message\":\"EngineCore encountered an issue\","
                                    "\"type\":\"InternalServerError\",\"param\":null,\"code\":500}}");
    length += event(bytes + length, "[DONE]");
  }
  if (ending != ABORTED) length += sprintf(bytes + length, "0\r\n\r\n");
  if (length) push(c, bytes, length);
  add_record(c, ending != WHOLE);
  stop(c, at);
  c->active = 0;
  if (ending == ABORTED) c->close_after = 1;
}

static int repeat_word(char *to, int times) {
  int length = 0;
  for (int i = 0; i < times; i++) length += sprintf(to + length, "%s", word);
  to[length] = 0;
  return length;
}

static void answer_at_once(Connection *c, double at) {
  char *text = malloc((size_t)c->asked_tokens * strlen(word) + 1);
  repeat_word(text, c->asked_tokens);
  char *json = malloc(strlen(text) + 4096);
  int length = sprintf(json,
                       "{\"id\":\"%s-%ld\",\"object\":\"%s\",\"created\":1700000000,\"model\":\"%s\","
                       "\"choices\":[{\"index\":0,",
                       id_prefix(c), c->id, c->chat ? "chat.completion" : "text_completion", model);
  const char *content = c->chat ? "\"message\":{\"role\":\"assistant\",\"content\":\"%s\"}" : "\"text\":\"%s\"";
  length += sprintf(json + length, content, text);
  sprintf(json + length,
          ",\"finish_reason\":\"length\"}],"
          "\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%d,\"completion_tokens\":%d}}",
          c->prompt_tokens, c->prompt_tokens + c->asked_tokens, c->asked_tokens);
  reply_json(c, 200, json);
  free(json);
  free(text);
  add_record(c, 0);
  stop(c, at);
  c->active = 0;
}

/* One chunk with output, for a chat the role before the first; returns its length. */
static int output_chunk(Connection *c, char *to, int tokens, int is_last) {
  char json[8192], text[4096];
  int length = 0;
  repeat_word(text, tokens < MAX_TEXT_TOKENS ? tokens : MAX_TEXT_TOKENS);
  const char *finish_reason = is_last ? "\"length\"" : "null";
  if (c->chat && c->sent_chunks == 0) {
    snprintf(json, sizeof json,
             "{\"id\":\"chatcmpl-%ld\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"%s\","
             "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
             "\"finish_reason\":null}],\"usage\":null}",
             c->id, model);
    length += event(to, json);
  }
  if (c->chat)
    snprintf(json, sizeof json,
             "{\"id\":\"chatcmpl-%ld\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"%s\","
             "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":%s,"
             "\"token_ids\":null}],\"usage\":null}",
             c->id, model, text, finish_reason);
  else
    snprintf(json, sizeof json,
             "{\"id\":\"cmpl-%ld\",\"object\":\"text_completion\",\"created\":1700000000,\"model\":\"%s\","
             "\"choices\":[{\"index\":0,\"text\":\"%s\",\"logprobs\":null,\"finish_reason\":%s,"
             "\"stop_reason\":null,\"token_ids\":null}],\"usage\":null}",
             c->id, model, text, finish_reason);
  return length + event(to + length, json);
}

/* The fault of this server strikes at this chunk of `c`, if it does: 1 when it did. */
static int strike(Connection *c, int total_chunks, double at) {
  if (!strcmp(fault, "errevent") && c->sent_chunks >= 3) finish(c, ERROR_EVENT, at);
  else if (strncmp(fault, "half", 4) || c->sent_chunks < total_chunks / 2) return 0;
  else if (!strcmp(fault, "halfclose")) finish(c, WITHOUT_DONE, at);
  else if (!strcmp(fault, "halfabort")) finish(c, ABORTED, at);
  else c->stalled = 1;
  return 1;
}

/* Send the next `count` chunks of `c`; the last of them was due `at`. */
static void emit(Connection *c, int count, double at) {
  static char bytes[CHUNKS_BUFFER];
  int length = 0, total_chunks = (c->asked_tokens + tokens_per_chunk - 1) / tokens_per_chunk;
  for (int i = 0; i < count && c->sent_chunks < total_chunks; i++) {
    if (*fault) {
      if (length) push(c, bytes, length);
      length = 0;
      if (strike(c, total_chunks, at)) return;
    }
    int left = c->asked_tokens - c->sent_chunks * tokens_per_chunk;
    if (c->stream)
      length += output_chunk(c, bytes + length, left < tokens_per_chunk ? left : tokens_per_chunk,
                             c->sent_chunks == total_chunks - 1);
    c->sent_chunks++;
    if (length > CHUNKS_BUFFER - CHUNK_MAX) {
      push(c, bytes, length);
      length = 0;
    }
  }
  if (length) push(c, bytes, length);
  c->last = now();
  if (c->first == 0) c->first = c->last;
  if (c->sent_chunks >= total_chunks) {
    if (c->stream) finish(c, WHOLE, at);
    else answer_at_once(c, at);
  }
}

/* ----------------------------------------------------------------------------------------------------- requests */

/* What stands after `"key":`, NULL when the key is nowhere. A search, not a parser: prompts must not hold the keys. */
static const char *value_of(const char *json, const char *key) {
  const char *at = strstr(json, key);
  if (!at) return NULL;
  at += strlen(key);
  while (*at == ' ' || *at == ':') at++;
  return at;
}

static int int_of(const char *json, const char *key, int missing) {
  const char *at = value_of(json, key);
  return at && *at >= '0' && *at <= '9' ? atoi(at) : missing;
}

static int is_true(const char *json, const char *key) {
  const char *at = value_of(json, key);
  return at && *at == 't';
}

/* Token ids where `prompt` is a list of them, words where it is a text; words of the whole body of a chat. */
static int count_prompt_tokens(const char *json) {
  const char *at = value_of(json, "\"prompt\"");
  char separator = at && *at == '[' ? ',' : ' ', end = !at ? 0 : *at == '[' ? ']' : '"';
  int count = 1;
  for (at = at ? at + 1 : json; *at && *at != end; at++) count += *at == separator;
  return count;
}

static void answer_truth(Connection *c) {
  double mean = 0, p99 = 0, max = 0;
  if (lateness_count) {
    double *sorted = malloc(lateness_count * sizeof *sorted);
    memcpy(sorted, lateness, lateness_count * sizeof *sorted);
    qsort(sorted, lateness_count, sizeof *sorted, ascending);
    for (long i = 0; i < lateness_count; i++) mean += sorted[i] / lateness_count;
    p99 = sorted[(long)(lateness_count * .99)];
    max = sorted[lateness_count - 1];
    free(sorted);
  }
  char *text = malloc(1024 + record_count * 192);
  size_t length = sprintf(text,
                          "# rtoff=%.9f late_mean_us=%.2f late_p99_us=%.2f late_max_us=%.2f steps=%ld "
                          "http_requests=%ld peak=%ld active=%d\n",
                          clock_s(CLOCK_REALTIME) - now(), mean * 1e6, p99 * 1e6, max * 1e6, lateness_count,
                          http_requests, peak_running, running_count);
  for (long i = 0; i < record_count; i++) {
    Record *r = &records[i];
    length += sprintf(text + length, "%.7f,%.7f,%.7f,%.7f,%d,%d,%ld,%d,%.7f,%ld\n", r->arrival, r->first, r->last,
                      r->end, r->chunks, r->tokens, r->blocked_sends, r->aborted, r->seen, r->bytes);
  }
  reply(c, 200, "text/csv", text, length);
  free(text);
}

static void answer_tokenize(Connection *c, const char *body) {
  int count = count_prompt_tokens(body);
  char *json = malloc(128 + 2 * (size_t)count);
  int length = sprintf(json, "{\"count\":%d,\"max_model_len\":32768,\"tokens\":[5", count);
  for (int i = 1; i < count; i++) length += sprintf(json + length, ",5");
  sprintf(json + length, "]}");
  reply_json(c, 200, json);
  free(json);
}

static void begin_answer(Connection *c, int chat, const char *body) {
  c->chat = chat;
  c->stream = is_true(body, "\"stream\"");
  c->usage = is_true(body, "\"include_usage\"");
  c->asked_tokens = int_of(body, "\"max_completion_tokens\"", int_of(body, "\"max_tokens\"", 16));
  if (c->asked_tokens < 1) c->asked_tokens = 1;
  c->prompt_tokens = count_prompt_tokens(body);
  c->id = ++last_id;
  c->sent_chunks = c->stalled = 0;
  c->blocked_sends = 0;
  c->first = c->last = 0;
  c->place = -1;
  c->arrival = now();
  if (!strcmp(fault, "http500")) {
    c->asked_tokens = 0;
    add_record(c, 1);
    reply_json(c, 500, "{\"error\":{\"message\":\"Internal server error\",\"type\":\"InternalServerError\","
                       "\"param\":null,\"code\":500}}");
    return;
  }
  c->active = 1;
  if (c->stream) {
    const char *head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n";
    push(c, head, strlen(head));
  }
  if (max_running && running_count >= max_running) enqueue(c);
  else start(c, c->arrival);
}

static int is_path(const char *path, const char *name) {
  size_t length = strlen(name);
  return !strncmp(path, name, length) && (path[length] == ' ' || path[length] == '?');
}

static void handle(Connection *c, const char *line, const char *body) {
  int is_post = !strncmp(line, "POST", 4);
  const char *path = strchr(line, ' ') + 1;
  char text[1024];
  http_requests++;
  if (is_post && is_path(path, "/v1/completions")) begin_answer(c, 0, body);
  else if (is_post && is_path(path, "/v1/chat/completions")) begin_answer(c, 1, body);
  else if (is_path(path, "/health")) reply(c, 200, "text/plain", "", 0);
  else if (is_path(path, "/truth.csv")) answer_truth(c);
  else if (is_path(path, "/tokenize")) answer_tokenize(c, body);
  else if (is_path(path, "/version")) reply_json(c, 200, "{\"version\":\"0.0.0-fake\"}");
  else if (is_path(path, "/reset")) {
    record_count = lateness_count = http_requests = peak_running = 0;
    reply(c, 200, "text/plain", "ok", 2);
  } else if (is_path(path, "/v1/models")) {
    snprintf(text, sizeof text,
             "{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\",\"created\":1700000000,"
             "\"owned_by\":\"vllm\",\"root\":\"%s\",\"max_model_len\":32768}]}",
             model, model);
    reply_json(c, 200, text);
  } else if (is_path(path, "/metrics")) {
    int length = snprintf(text, sizeof text,
                          "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"%s\"} %d\n"
                          "# TYPE vllm:generation_tokens_total counter\n"
                          "vllm:generation_tokens_total{model_name=\"%s\"} %ld\n",
                          model, running_count, model, record_count);
    reply(c, 200, "text/plain; version=0.0.4", text, length);
  } else reply_json(c, 404, "{\"detail\":\"Not Found\"}");
}

/* Handle the request at the front of c->in if it is there whole: its length, 0 when it is not. */
static size_t take_request(Connection *c) {
  c->in[c->in_length] = 0;
  char *end = strstr(c->in, "\r\n\r\n");
  if (!end) return 0;
  size_t head = end - c->in + 4, body = 0;
  char first_of_end = *end;
  *end = 0; /* the header fields are looked for in the head alone, however long the body is */
  char *field = strcasestr(c->in, "\r\ncontent-length:");
  if (field) body = atol(field + strlen("\r\ncontent-length:"));
  int expects = strcasestr(c->in, "\r\nexpect: 100") != NULL;
  *end = first_of_end;
  if (expects && c->in_length == head && body) push(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
  if (c->in_length < head + body) return 0;
  c->bytes = head + body;
  char after = c->in[head + body];
  c->in[head + body] = 0;
  end[2] = 0;
  handle(c, c->in, c->in + head);
  c->in[head + body] = after;
  return head + body;
}

/* Read what came and answer it; -1 when the client is gone. */
static int receive(Connection *c) {
  for (;;) {
    if (c->in_capacity - c->in_length < READ_SIZE) {
      c->in_capacity = c->in_capacity * 2 + 2 * READ_SIZE;
      c->in = realloc(c->in, c->in_capacity);
    }
    size_t room = c->in_capacity - c->in_length - 1;
    ssize_t got = recv(c->fd, c->in + c->in_length, room, MSG_DONTWAIT);
    if (got == 0) return -1;
    if (got < 0) {
      if (errno == EAGAIN) break;
      return -1;
    }
    if (c->in_length == 0 && !c->active) c->seen = now();
    c->in_length += got;
    if ((size_t)got < room) break;
  }
  while (!c->active && c->in_length) {
    size_t taken = take_request(c);
    if (!taken) break;
    memmove(c->in, c->in + taken, c->in_length - taken);
    c->in_length -= taken;
  }
  return 0;
}

/* --------------------------------------------------------------------------------------------------- event loop */

static void accept_all(int listener) {
  int fd, yes = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    Connection *c = calloc(1, sizeof *c);
    c->fd = fd;
    c->place = -1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
  }
}

/* Seconds until something is due. */
static double time_to_wait(void) {
  double t = now(), wait = 3600;
  if (!running_count) return wait;
  if (!exact && !free_run) return next_step > t ? next_step - t : 0;
  for (int i = 0; i < running_count; i++) {
    Connection *c = running[i];
    if (c->stalled) continue;
    if (free_run && c->due <= t) {
      if (c->out_begin == c->out_end) return 0; /* otherwise the socket takes nothing now, and epoll says when */
    } else if (c->due - t < wait) wait = c->due - t;
  }
  return wait > 0 ? wait : 0;
}

static void emit_and_close(Connection *c, int count, double at) {
  emit(c, count, at);
  if (c->close_after) drop(c);
}

/* Send what is due. Backwards, because a request that ends is replaced by the last of running[]. */
static void send_due(void) {
  double t = now(), step = next_step;
  int lockstep = !exact && !free_run;
  if (lockstep) {
    if (!running_count || step > t) return;
    add_lateness(t - step);
    next_step += tpot;
  }
  for (int i = running_count - 1; i >= 0; i--) {
    if (i >= running_count) continue;
    Connection *c = running[i];
    if (c->stalled) continue;
    if (lockstep) {
      if (c->due <= step + 1e-9) emit_and_close(c, 1, t);
    } else if (free_run) {
      if (c->due <= t && c->out_begin == c->out_end) emit_and_close(c, batch, t);
    } else if (c->due <= t) {
      double due = c->due;
      add_lateness(now() - due);
      c->due += tpot;
      emit_and_close(c, 1, due);
    }
  }
}

static int listen_on_loopback(void) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  struct sockaddr_in address = {
    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listener, (void *)&address, length) || listen(listener, 4096) ||
      getsockname(listener, (void *)&address, &length)) {
    perror("fakeserver: cannot listen");
    exit(1);
  }
  printf("listening on %d\n", ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

static void read_flags(int count, char **flags) {
  for (int i = 1; i < count; i++) {
    const char *flag = flags[i];
    if (!strcmp(flag, "--exact")) exact = 1;
    else if (!strcmp(flag, "--free-run")) free_run = 1;
    else if (i + 1 == count) {
      fprintf(stderr, "fakeserver: %s: unknown, or its value is missing\n", flag);
      exit(2);
    } else if (!strcmp(flag, "--port")) port = atoi(flags[++i]);
    else if (!strcmp(flag, "--ttft")) ttft = atof(flags[++i]) / 1e3;
    else if (!strcmp(flag, "--tpot")) tpot = atof(flags[++i]) / 1e3;
    else if (!strcmp(flag, "--tokens-per-chunk")) tokens_per_chunk = atoi(flags[++i]);
    else if (!strcmp(flag, "--batch")) batch = atoi(flags[++i]);
    else if (!strcmp(flag, "--max-running")) max_running = atoi(flags[++i]);
    else if (!strcmp(flag, "--fault")) fault = flags[++i];
    else if (!strcmp(flag, "--model")) model = flags[++i];
    else if (!strcmp(flag, "--word")) word = flags[++i];
    else {
      fprintf(stderr, "fakeserver: unknown flag %s\n", flag);
      exit(2);
    }
  }
}

int main(int count, char **flags) {
  read_flags(count, flags);
  signal(SIGPIPE, SIG_IGN);
  poller = epoll_create1(0);
  int listener = listen_on_loopback();
  struct epoll_event of_listener = {.events = EPOLLIN, .data.ptr = NULL}, events[MAX_EVENTS];
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &of_listener);
  for (;;) {
    double wait = time_to_wait();
    struct timespec timeout = {.tv_sec = (long)wait, .tv_nsec = (long)((wait - (long)wait) * 1e9)};
    int ready = epoll_pwait2(poller, events, MAX_EVENTS, &timeout, NULL);
    for (int i = 0; i < ready; i++) {
      Connection *c = events[i].data.ptr;
      if (!c) {
        accept_all(listener);
        continue;
      }
      if (events[i].events & EPOLLOUT) flush(c);
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR) && receive(c) < 0) drop(c);
    }
    send_due();
  }
}
