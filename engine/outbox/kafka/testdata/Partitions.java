import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/** Prints keys with the partition that the Java client's default gives them, for several numbers of partitions. */
class Partitions {
    public static void main(String[] args) {
        int[] counts = {1, 2, 3, 7, 12, 50, 1000};
        StringBuilder head = new StringBuilder("key\thash");
        for (int n : counts) head.append('\t').append(n);
        System.out.println(head);
        java.util.List<String> keys = new java.util.ArrayList<>();
        for (long id = 0; id < 40; id++) keys.add(Long.toString(id));
        for (long id = 1000001; id < 1000041; id++) keys.add(Long.toString(id));
        for (long id = 1; id < 999999999999999999L / 7; id *= 7) keys.add(Long.toString(id));
        keys.add("999999999999999999");
        for (String key : keys) {
            byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
            StringBuilder line = new StringBuilder(key).append('\t').append(Utils.murmur2(bytes));
            for (int n : counts) line.append('\t').append(BuiltInPartitioner.partitionForKey(bytes, n));
            System.out.println(line);
        }
    }
}
